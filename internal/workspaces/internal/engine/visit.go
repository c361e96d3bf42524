package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// may opens a visit of a caller that may do all of these to the workspace.
func (e *Engine) may(ctx context.Context, r sqldb.Reader, ref string, actions ...string) (*door.Visit, error) {
	return e.Door.May(ctx, r, ref, actions...)
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
