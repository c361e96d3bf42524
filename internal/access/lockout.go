package access

import (
	"context"
	"slices"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// ownersKeep refuses rules and roles of a workspace under which an owner could not read, change and govern it any more:
// neither somebody who is an owner and nothing else, nor one of those who are owners now. Super admins could put it right,
// but nobody should have to ask them.
func ownersKeep(ctx context.Context, r sqldb.Reader, doc *document, workspace Object) error {
	grants, err := grantsFor(ctx, r, Principal{}, doc.workspaceID)
	if err != nil {
		return err
	}
	owners, err := Owners(ctx, r, doc.workspaceID)
	if err != nil {
		return err
	}
	for _, id := range append([]string{""}, owners...) {
		own := ObjectGrant{SubjectType: SubjectWorkspaces, SubjectID: doc.workspaceID, WorkspaceID: doc.workspaceID, Target: id, Role: Owner}
		a := &Ability{caller: Principal{Kind: User, UserID: id}, workspaceID: doc.workspaceID, exists: true, doc: doc}
		a.take(append([]ObjectGrant{own}, grants...))
		if action := a.lacks(workspace, ActionManageSecurity, ActionManagePermissions, ActionRead, ActionUpdate); action != "" {
			return lockout("With this the owners of the workspace could not " + action + " it any more; leave them that.")
		}
	}
	return nil
}

// ownersKeepShared is ownersKeep after a change of the grants. It waits for others who change the rules, who look at the
// grants in turn.
func ownersKeepShared(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	if err := lockSecurity(ctx, tx, workspaceID); err != nil {
		return err
	}
	stored, err := LoadSecurity(ctx, tx, workspaceID)
	if err != nil {
		return err
	}
	return ownersKeep(ctx, tx, compile(workspaceID, stored.Security), nil)
}

// lacks gives the first of some actions on the workspace that the caller may not do.
func (a *Ability) lacks(workspace Object, actions ...string) string {
	for _, action := range actions {
		if !a.Decide(action, SubjectWorkspaces, workspace).Allowed {
			return action
		}
	}
	return ""
}

func lockout(message string) error { return errs.New(errs.Conflict, message).With("reason", "lockout") }

// deniesOwners tells whether a rule can deny something to an owner: it is for everyone, or for a role that an owner can
// have besides, by sign-in or because everyone has it.
func (d *document) deniesOwners(r Rule, public []string) bool {
	return r.Inverted && (r.Role.IsZero() || slices.ContainsFunc(r.Role.All, func(name string) bool {
		spec, _ := d.sec.role(name)
		return len(spec.Auth) > 0 && !spec.ForAutomations() || slices.Contains(public, name)
	}))
}

// publicRoles lists the roles that everyone was given in a workspace or on its pages.
func publicRoles(ctx context.Context, r sqldb.Reader, workspaceID string) (names []string, err error) {
	grants, err := grantsFor(ctx, r, Principal{}, workspaceID)
	for _, g := range grants {
		if g.Target == Everyone && g.Role != None {
			names = append(names, string(g.Role))
		}
	}
	return names, err
}
