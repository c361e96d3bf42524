package store

import (
	"context"
	"database/sql"

	"atelier/internal/sqldb"
)

// IDsAfter lists workspaces that are not in the bin by their ids, from behind one of them.
func IDsAfter(ctx context.Context, r sqldb.Reader, after string, limit int) ([]string, error) {
	return sqldb.All(ctx, r, scanText, `SELECT id FROM ws_workspaces WHERE id > $1 AND deleted_at = 0 ORDER BY id LIMIT $2`, after, limit)
}

// Installing lists the workspaces that have an instance of an app.
func Installing(ctx context.Context, r sqldb.Reader, appSlug string) ([]string, error) {
	return sqldb.All(ctx, r, scanText, `SELECT DISTINCT workspace_id FROM ws_documents WHERE app_slug = $1 AND app_slug <> '' ORDER BY workspace_id`, appSlug)
}

// Publishing lists the apps of a workspace.
func Publishing(ctx context.Context, r sqldb.Reader, workspaceID string) ([]string, error) {
	return sqldb.All(ctx, r, scanText, `SELECT slug FROM ws_apps WHERE workspace_id = $1 ORDER BY slug`, workspaceID)
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }
