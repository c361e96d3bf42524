package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// may opens a visit of a caller that may do all of these to the workspace.
func (e *Engine) may(ctx context.Context, r sqldb.Reader, ref string, actions ...string) (*door.Visit, error) {
	return e.Door.May(ctx, r, ref, actions...)
}

// enter is may for changing a workspace, its permissions or its keys. The workspace is held before anything is read of it:
// nobody deletes it until the transaction ends, and what the caller may do is what it may do now.
func (e *Engine) enter(ctx context.Context, tx *sqldb.Tx, ref string, actions ...string) (*door.Visit, error) {
	id, err := store.Resolve(ctx, tx, ref)
	if err != nil {
		return nil, err
	}
	held, err := hold(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	v, err := e.may(ctx, tx, ref, actions...)
	if err != nil {
		return nil, err
	}
	return v, stillThere(v, held, ref)
}

// hold keeps others from changing a workspace until the transaction ends; empty when there is none.
func hold(ctx context.Context, tx *sqldb.Tx, id string) (held string, err error) {
	w, err := store.Hold(ctx, tx, id)
	if sqldb.IsNotFound(err) {
		return "", nil
	}
	return w.ID, err
}

// stillThere refuses a visit of a workspace that is not the one that was held: it was restored, or its slug went to another
// one, between two looks.
func stillThere(v *door.Visit, held, ref string) error {
	if v.Workspace.ID != held {
		return errs.Missing("workspaces", ref)
	}
	return nil
}

// fieldsByID reads what the conditions of rules on workspaces look at.
func (e *Engine) fieldsByID(ctx context.Context, r sqldb.Reader, ids []string) (map[string]access.Object, error) {
	found, err := store.ByIDs(ctx, r, access.Dialect(e.DB.Driver()), ids)
	fields := make(map[string]access.Object, len(found))
	for _, w := range found {
		fields[w.ID] = door.FieldsOf(w)
	}
	return fields, err
}
