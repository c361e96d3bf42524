package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// binSlug is the slug of a workspace in the bin: none that another can have, so that its own is free.
func binSlug(id string) string { return "bin:" + id }

// Bin puts a workspace into the bin and frees its slug.
func Bin(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, at time.Time, by string) error {
	_, err := tx.Exec(ctx, `UPDATE ws_workspaces SET deleted_at = $1, deleted_by = $2, deleted_slug = slug, slug = $3 WHERE id = $4 AND deleted_at = 0`,
		sqldb.Millis(at), by, binSlug(w.ID), w.ID)
	return err
}

// Binned reads a workspace in the bin; sql.ErrNoRows when it is not there.
func Binned(ctx context.Context, r sqldb.Reader, id string) (workspaces.Workspace, error) {
	return scan(r.QueryRow(ctx, `SELECT `+columns+` FROM ws_workspaces WHERE id = $1 AND deleted_at > 0`, id).Scan)
}

// Unbin takes a workspace out of the bin, under a slug, and tells whether it did: whoever is second finds it gone from
// there. A unique failure means that the slug is taken.
func Unbin(ctx context.Context, tx *sqldb.Tx, id, slug string) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_workspaces SET deleted_at = 0, deleted_by = '', deleted_slug = '', slug = $1, revision = revision + 1
		WHERE id = $2 AND deleted_at > 0`, slug, id)
	return n == 1, err
}

// ListBin reads the workspaces in the bin that a condition on their id admits, the last deleted first.
func ListBin(ctx context.Context, r sqldb.Reader, condition string, args ...any) ([]workspaces.Workspace, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (workspaces.Workspace, error) { return scan(rows.Scan) },
		`SELECT `+columns+` FROM ws_workspaces WHERE deleted_at > 0 AND `+condition+` ORDER BY deleted_at DESC, id`, args...)
}

// BinnedBefore lists the ids of workspaces that went into the bin before a time.
func BinnedBefore(ctx context.Context, r sqldb.Reader, before time.Time) ([]string, error) {
	return sqldb.All(ctx, r, scanID, `SELECT id FROM ws_workspaces WHERE deleted_at > 0 AND deleted_at < $1 ORDER BY id`, sqldb.Millis(before))
}

// Purge removes a workspace in the bin with everything that this service keeps of its definition, and tells whether it did.
func Purge(ctx context.Context, tx *sqldb.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_workspaces WHERE id = $1 AND deleted_at > 0`, id)
	if err != nil || n == 0 {
		return false, err
	}
	for _, statement := range []string{
		`DELETE FROM ws_documents WHERE workspace_id = $1`, `DELETE FROM ws_texts WHERE owner = $1`, `DELETE FROM ws_changes WHERE workspace_id = $1`,
		`DELETE FROM ws_revisions WHERE workspace_id = $1`, `DELETE FROM ws_versions WHERE workspace_id = $1`, `DELETE FROM ws_operations WHERE workspace_id = $1`,
		`DELETE FROM ws_page_ids WHERE workspace_id = $1`, `DELETE FROM ws_syncs WHERE workspace_id = $1`, `DELETE FROM ws_conflicts WHERE workspace_id = $1`,
		`DELETE FROM ws_host_keys WHERE workspace_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return false, err
		}
	}
	return true, nil
}
