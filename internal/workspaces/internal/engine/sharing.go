package engine

import (
	"context"
	"strings"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// RolePrefix begins the target of a grant to the holders of a role.
const RolePrefix = "role:"

// Shared is a grant on a workspace, and what people call whom it is for.
type Shared struct {
	access.ObjectGrant

	DisplayName string
}

// TargetType tells what kind of target the grant has: users, roles or public.
func (s Shared) TargetType() string {
	switch {
	case s.Target == access.Everyone:
		return "public"
	case strings.HasPrefix(s.Target, RolePrefix):
		return "roles"
	default:
		return "users"
	}
}

// Permissions lists with whom a workspace is shared.
func (e *Engine) Permissions(ctx context.Context, ref string) ([]Shared, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionManagePermissions)
	if err != nil {
		return nil, err
	}
	grants, err := access.GrantsOf(ctx, e.DB, access.SubjectWorkspaces, v.workspace.ID)
	if err != nil {
		return nil, err
	}
	return e.named(ctx, e.DB, grants)
}

// Share gives a user, a role or everyone permissions on a workspace, in the place of those given before.
func (e *Engine) Share(ctx context.Context, ref string, grant access.ObjectGrant) (shared Shared, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.may(ctx, tx, ref, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		grant.SubjectType, grant.SubjectID, grant.WorkspaceID = access.SubjectWorkspaces, v.workspace.ID, v.workspace.ID
		if err := e.checkTarget(ctx, tx, grant); err != nil {
			return err
		}
		before, err := e.granted(ctx, tx, grant)
		if err != nil {
			return err
		}
		stored, err := v.ability.Share(ctx, tx, grant)
		if err != nil {
			return err
		}
		if shared, err = e.nameOf(ctx, tx, stored); err != nil {
			return err
		}
		return e.audit(ctx, tx, v.workspace.ID, sharedAct(before, shared))
	})
	return shared, err
}

// Unshare takes the permissions of a user, a role or everyone on a workspace away.
func (e *Engine) Unshare(ctx context.Context, ref, target string) error {
	return e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.may(ctx, tx, ref, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		grant := access.ObjectGrant{
			SubjectType: access.SubjectWorkspaces, SubjectID: v.workspace.ID, WorkspaceID: v.workspace.ID, Target: target,
		}
		before, err := e.granted(ctx, tx, grant)
		if err != nil {
			return err
		}
		if before == nil {
			return errs.Missing("permissions", target)
		}
		if err := v.ability.Unshare(ctx, tx, grant); err != nil {
			return err
		}
		named, err := e.nameOf(ctx, tx, *before)
		if err != nil {
			return err
		}
		return e.audit(ctx, tx, v.workspace.ID, unsharedAct(named))
	})
}

// checkTarget refuses users that do not exist. A role is checked with the grant itself.
func (e *Engine) checkTarget(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) error {
	if (Shared{ObjectGrant: grant}).TargetType() != "users" {
		return nil
	}
	names, err := e.People.Names(ctx, r, []string{grant.Target})
	if err == nil && names[grant.Target] == "" {
		return errs.New(errs.NotFound, "There is no such user; look the id up with POST /v2/contacts.").With("subjectType", "users").With("id", grant.Target)
	}
	return err
}

// granted gives the grant that the target has now; nil when it has none.
func (e *Engine) granted(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) (*access.ObjectGrant, error) {
	grants, err := access.GrantsOf(ctx, r, grant.SubjectType, grant.SubjectID)
	for i := range grants {
		if grants[i].Target == grant.Target {
			return &grants[i], nil
		}
	}
	return nil, err
}

func (e *Engine) nameOf(ctx context.Context, r sqldb.Reader, grant access.ObjectGrant) (Shared, error) {
	named, err := e.named(ctx, r, []access.ObjectGrant{grant})
	if err != nil {
		return Shared{}, err
	}
	return named[0], nil
}

// named adds what people call the targets of grants.
func (e *Engine) named(ctx context.Context, r sqldb.Reader, grants []access.ObjectGrant) ([]Shared, error) {
	all := make([]Shared, 0, len(grants))
	var ids []string
	for _, grant := range grants {
		shared := Shared{ObjectGrant: grant}
		switch shared.TargetType() {
		case "public":
			shared.DisplayName = "Public"
		case "roles":
			shared.DisplayName = "Role: " + strings.TrimPrefix(grant.Target, RolePrefix)
		default:
			ids = append(ids, grant.Target)
		}
		all = append(all, shared)
	}
	if len(ids) == 0 {
		return all, nil
	}
	names, err := e.People.Names(ctx, r, ids)
	for i := range all {
		if all[i].DisplayName == "" {
			all[i].DisplayName = names[all[i].Target]
		}
	}
	return all, err
}

func sharedAct(before *access.ObjectGrant, shared Shared) envelope.Act {
	act := permissionsAct("workspaces.permissions.shared", shared)
	if before != nil {
		act.Before = permissions(*before)
	}
	act.After = permissions(shared.ObjectGrant)
	act.Payload["permissions"] = act.After
	return act
}

func unsharedAct(before Shared) envelope.Act {
	act := permissionsAct("workspaces.permissions.deleted", before)
	act.Before = permissions(before.ObjectGrant)
	return act
}

func permissionsAct(eventType string, shared Shared) envelope.Act {
	return envelope.Act{Type: eventType, Payload: map[string]any{
		"subjectId": shared.SubjectID,
		"target":    map[string]any{"type": shared.TargetType(), "id": shared.Target, "displayName": shared.DisplayName},
	}}
}

// permissions is what events say of a grant.
func permissions(grant access.ObjectGrant) map[string]any {
	said := map[string]any{}
	if grant.Role != access.None {
		said["role"] = string(grant.Role)
	}
	if grant.Policies != (access.Policies{}) {
		said["policies"] = grant.Policies
	}
	return said
}
