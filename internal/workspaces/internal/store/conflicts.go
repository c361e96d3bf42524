package store

import (
	"context"
	"time"

	"atelier/internal/sqldb"
)

// Conflict is why a workspace is locked. Data is JSON that whoever found it understands.
type Conflict struct {
	RepositoryID, Data string
	CreatedAt          time.Time
	CreatedBy          string
}

// GetConflict reads the conflict of a workspace; sql.ErrNoRows when there is none.
func GetConflict(ctx context.Context, r sqldb.Reader, workspaceID string) (c Conflict, err error) {
	var created int64
	err = r.QueryRow(ctx, `SELECT repository_id, data, created_at, created_by FROM ws_conflicts WHERE workspace_id = $1`, workspaceID).
		Scan(&c.RepositoryID, &c.Data, &created, &c.CreatedBy)
	c.CreatedAt = sqldb.Time(created)
	return c, err
}

// PutConflict keeps the conflict of a workspace, in the place of the one before.
func PutConflict(ctx context.Context, tx *sqldb.Tx, workspaceID string, c Conflict) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_conflicts (workspace_id, repository_id, data, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workspace_id) DO UPDATE SET repository_id = excluded.repository_id, data = excluded.data, created_at = excluded.created_at, created_by = excluded.created_by`,
		workspaceID, c.RepositoryID, c.Data, sqldb.Millis(c.CreatedAt), c.CreatedBy)
	return err
}

// DeleteConflict forgets the conflict of a workspace, with the documents of the other side that were kept for it.
func DeleteConflict(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM ws_conflicts WHERE workspace_id = $1`, workspaceID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_versions WHERE workspace_id = $1 AND kind = $2`, workspaceID, Theirs)
	return err
}
