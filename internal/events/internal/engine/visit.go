package engine

import (
	"context"
	"errors"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/errs"
)

// visit is a caller at a workspace: what it may do there.
type visit struct {
	// ref is how the caller named the workspace.
	ref, workspaceID string
	ability          *access.Ability
}

// visit looks up the workspace that the caller names. One that does not exist is not refused here but by the first check,
// with the words in which any other is refused to a caller without access.
func (e *Engine) visit(ctx context.Context, ref string) (*visit, error) {
	id, err := e.Resolve(ctx, e.DB, ref)
	if err != nil {
		return nil, err
	}
	ability, err := e.Access.Load(ctx, e.DB, id)
	if err != nil {
		return nil, err
	}
	return &visit{ref: ref, workspaceID: id, ability: ability}, nil
}

// checkEmit refuses an event that the caller may not emit.
func (v *visit) checkEmit(event envelope.Event) error {
	err := v.ability.Check(access.ActionCreate, access.SubjectEvents, newEmitted(v, event))
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Code == errs.PermissionDenied {
		return refusal.With("subject", map[string]any{"type": event.Type, "target": event.Target})
	}
	return v.asNamed(err)
}

// asNamed keeps a refusal from telling the id of a workspace that was named by its slug.
func (v *visit) asNamed(err error) error {
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Code == errs.WorkspaceAccessDenied {
		return refusal.With("workspaceId", v.ref)
	}
	return err
}
