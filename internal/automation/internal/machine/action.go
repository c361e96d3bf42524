package machine

import (
	"slices"

	"atelier/internal/access"
)

// allowed sees whether who acts may run an automation that asks for it.
func (f *Frame) allowed() error {
	a := f.automation
	if a.Action == "" {
		return nil
	}
	if f.machine.Access == nil {
		return forbidden(a)
	}
	ctx := f.Context()
	ability, err := f.machine.Access.Load(ctx, f.machine.DB, f.run.Root.WorkspaceID)
	if err != nil {
		return err
	}
	if ability.IsOwner() || slices.Contains(ability.Roles(), string(access.Editor)) {
		return nil
	}
	object := access.Fields{
		"id": a.FullSlug(), "slug": a.Slug, "workspaceId": f.run.Root.WorkspaceID, "runningWorkspaceId": f.run.Root.WorkspaceID,
		"authorizations": map[string]any{"action": a.Action},
	}
	if err := ability.Check(access.ActionExecute, access.SubjectAutomations, object); err != nil {
		return forbidden(a).Because(err)
	}
	return nil
}

func forbidden(a *Automation) *Failure {
	return Fail(Forbidden, "You may not run this automation; ask an owner of the workspace for a role that may").
		With(Payload("automation", a.FullSlug(), "action", a.Action))
}
