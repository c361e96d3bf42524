package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
)

// Security reads the security document of a workspace that the caller may read.
func (e *Engine) Security(ctx context.Context, ref string) (access.StoredSecurity, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionRead)
	if err != nil {
		return access.StoredSecurity{}, err
	}
	return access.LoadSecurity(ctx, e.DB, v.Workspace.ID)
}

// Roles lists the roles that people can be given in a workspace.
func (e *Engine) Roles(ctx context.Context, ref string) ([]access.RoleName, error) {
	v, err := e.may(ctx, e.DB, ref, access.ActionManagePermissions)
	if err != nil {
		return nil, err
	}
	stored, err := access.LoadSecurity(ctx, e.DB, v.Workspace.ID)
	if err != nil {
		return nil, err
	}
	return stored.RoleNames(), nil
}

// SetSecurity replaces the security document of a workspace; the text that is kept changes only where it has to. ifMatch,
// when given, is the revision the caller has seen. What would lock the caller out, or give somebody more than the caller
// has, is refused.
func (e *Engine) SetSecurity(ctx context.Context, ref, ifMatch string, document []byte) (access.StoredSecurity, error) {
	w, err := e.Definitions.Edit(ctx, ref, definitions.Purpose{}, func(ctx context.Context, edit *definitions.Edit) error {
		if err := edit.Visit.Check(access.ActionManageSecurity, access.ActionManagePermissions); err != nil {
			return err
		}
		before, err := access.LoadSecurity(ctx, edit.Tx, edit.Workspace.ID)
		if err != nil {
			return err
		}
		if err := restapi.CheckIfMatch(ifMatch, restapi.ETag(before.Revision)); err != nil {
			return err
		}
		return edit.PutSecurity(ctx, document)
	})
	if err != nil {
		return access.StoredSecurity{}, err
	}
	return access.LoadSecurity(ctx, e.DB, w.ID)
}
