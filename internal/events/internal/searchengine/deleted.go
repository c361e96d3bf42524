package searchengine

import (
	"context"
	"database/sql"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// deletedType tells that a workspace was deleted; for a while it can be restored.
const deletedType = "workspaces.deleted"

// noteDeleted notes the workspaces that are being deleted, where their events do not outlive them.
func (e *Engine) noteDeleted(ctx context.Context, events []bus.Event) error {
	if !e.AtOnce() {
		return nil
	}
	for _, event := range events {
		if event.Type != deletedType {
			continue
		}
		if err := e.exec(ctx, `INSERT INTO events_gone (workspace_id) VALUES ($1) ON CONFLICT (workspace_id) DO NOTHING`, event.WorkspaceID); err != nil {
			return errs.Wrap(err, "note that a workspace is deleted")
		}
	}
	return nil
}

// AtOnce tells that events are removed as soon as their workspace is gone, which they are with OpenSearch.
func (e *Engine) AtOnce() bool { return e.config.Driver == OpenSearch }

// Deleted lists the workspaces that were deleted and may be gone by now.
func (e *Engine) Deleted(ctx context.Context) ([]string, error) {
	ids, err := sqldb.All(ctx, e.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }, `SELECT workspace_id FROM events_gone ORDER BY workspace_id`)
	return ids, errs.Wrap(err, "list deleted workspaces")
}

// Removed notes that the events of a workspace are removed.
func (e *Engine) Removed(ctx context.Context, workspaceID string) error {
	err := e.exec(ctx, `DELETE FROM events_gone WHERE workspace_id = $1`, workspaceID)
	return errs.Wrap(err, "note that the events of a workspace are removed")
}
