package engine

import (
	"context"
	"errors"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// visit is a caller at a workspace: what it may do there.
type visit struct {
	// ref is how the caller named the workspace: its id, or slug: and its slug.
	ref       string
	workspace workspaces.Workspace
	ability   *access.Ability
}

// visit looks up the workspace that the caller names. One that does not exist is not refused here but by the first check,
// with the words in which any other is refused to a caller without access.
func (e *Engine) visit(ctx context.Context, r sqldb.Reader, ref string) (*visit, error) {
	w, err := store.Find(ctx, r, ref)
	if sqldb.IsNotFound(err) {
		w, err = workspaces.Workspace{ID: ref}, nil
	}
	if err != nil {
		return nil, err
	}
	ability, err := e.Access.Load(ctx, r, w.ID)
	if err != nil {
		return nil, err
	}
	return &visit{ref: ref, workspace: w, ability: ability}, nil
}

// may opens a visit of a caller that may do all of these to the workspace.
func (e *Engine) may(ctx context.Context, r sqldb.Reader, ref string, actions ...string) (*visit, error) {
	v, err := e.visit(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	return v, v.check(actions...)
}

// check refuses the caller that may not do all of these to the workspace.
func (v *visit) check(actions ...string) error {
	for _, action := range actions {
		if err := v.ability.Check(action, access.SubjectWorkspaces, fieldsOf(v.workspace)); err != nil {
			return v.asNamed(err)
		}
	}
	if v.workspace.Revision == 0 {
		return errs.Missing("workspaces", v.ref)
	}
	return nil
}

// checkField refuses the caller that may not do this to a field of the workspace.
func (v *visit) checkField(action, field string) error {
	return v.asNamed(v.ability.CheckField(action, access.SubjectWorkspaces, field, fieldsOf(v.workspace)))
}

// asNamed keeps a refusal from telling the id of a workspace that was named by its slug.
func (v *visit) asNamed(err error) error {
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Code == errs.WorkspaceAccessDenied {
		return refusal.With("workspaceId", v.ref)
	}
	return err
}

// fieldsByID reads what the conditions of rules on workspaces look at.
func (e *Engine) fieldsByID(ctx context.Context, r sqldb.Reader, ids []string) (map[string]access.Object, error) {
	found, err := store.ByIDs(ctx, r, access.Dialect(e.DB.Driver()), ids)
	fields := make(map[string]access.Object, len(found))
	for _, w := range found {
		fields[w.ID] = fieldsOf(w)
	}
	return fields, err
}

// fieldsOf is what the conditions of rules on workspaces look at.
func fieldsOf(w workspaces.Workspace) access.Fields {
	return access.Fields{"id": w.ID, "slug": w.Slug, "name": w.Name, "labels": w.Labels, "createdBy": w.CreatedBy}
}
