package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

// Security reads the security document of a workspace that the caller may read.
func (e *Engine) Security(ctx context.Context, ref string) (access.StoredSecurity, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionRead)
	if err != nil {
		return access.StoredSecurity{}, err
	}
	return access.LoadSecurity(ctx, e.DB, v.workspace.ID)
}

// Roles lists the roles that people can be given in a workspace.
func (e *Engine) Roles(ctx context.Context, ref string) ([]access.RoleName, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionManagePermissions)
	if err != nil {
		return nil, err
	}
	stored, err := access.LoadSecurity(ctx, e.DB, v.workspace.ID)
	if err != nil {
		return nil, err
	}
	return stored.RoleNames(), nil
}

// SetSecurity replaces the security document of a workspace. ifMatch, when given, is the revision the caller has seen.
// What would lock the caller out, or give somebody more than the caller has, is refused.
func (e *Engine) SetSecurity(ctx context.Context, ref, ifMatch string, document []byte) (saved access.StoredSecurity, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.may(ctx, tx, ref, access.ActionManageSecurity, access.ActionManagePermissions)
		if err != nil {
			return err
		}
		before, err := access.LoadSecurity(ctx, tx, v.workspace.ID)
		if err != nil {
			return err
		}
		if err := restapi.CheckIfMatch(ifMatch, restapi.ETag(before.Revision)); err != nil {
			return err
		}
		saved, err = e.Access.SaveSecurity(ctx, tx, access.SecurityChange{
			WorkspaceID: v.workspace.ID, Document: document, Workspace: fieldsOf(v.workspace),
		})
		if err != nil {
			return err
		}
		if saved.Revision != before.Revision+1 { // somebody was faster after it was read here
			return errs.New(errs.Conflict, "The security was changed by someone else; read it again and repeat your change.")
		}
		return e.audit(ctx, tx, v.workspace.ID, securityUpdated(v.workspace.ID, before.Security, saved.Security))
	})
	return saved, err
}

// securityUpdated is the act of replacing a security document; there is nothing before that of a new workspace.
func securityUpdated(workspaceID string, before any, after access.Security) envelope.Act {
	return envelope.Act{
		Type: "workspaces.security.updated", TargetType: access.SubjectWorkspaces, TargetID: workspaceID,
		Before: before, After: after, Payload: map[string]any{"security": after},
	}
}
