package store

import (
	"context"

	"atelier/internal/sqldb"
)

// KeepPageID remembers the id of a page that is being deleted.
func KeepPageID(ctx context.Context, tx *sqldb.Tx, workspaceID, path, objectID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_page_ids (workspace_id, path, object_id) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, path) DO UPDATE SET object_id = excluded.object_id`, workspaceID, path, objectID)
	return err
}

// FormerPageID gives the id that a page had before it was deleted; empty when there was none, or another page has it now.
func FormerPageID(ctx context.Context, tx *sqldb.Tx, workspaceID, path string) (id string, err error) {
	err = tx.QueryRow(ctx, `SELECT object_id FROM ws_page_ids p WHERE workspace_id = $1 AND path = $2
		AND NOT EXISTS (SELECT 1 FROM ws_documents d WHERE d.object_id = p.object_id)`, workspaceID, path).Scan(&id)
	if sqldb.IsNotFound(err) {
		return "", nil
	}
	return id, err
}
