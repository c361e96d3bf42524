package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/access"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// Bulk is a bulk import or push.
type Bulk struct {
	// ID is that of its operation.
	ID, Kind string
	// Epoch is that of whoever works on it.
	Epoch int64
	// Status is Running until it has ended.
	Status       string
	RepositoryID string
	// Place is a fingerprint of where the repository is.
	Place string
	// Options and Principal are JSON.
	Options, Principal string
	// Listed tells that its workspaces are frozen, Source is the commit that they come from.
	Listed bool
	Source string
	// Resumed is how often it was taken up again, Stalled how often without having got any further.
	Resumed, Stalled int
	StartedAt        time.Time
	StartedBy        string
}

// BulkItem is a workspace of a bulk operation: what was frozen of it, and what came of it, as JSON.
type BulkItem struct {
	Position      int
	Item, Outcome string
}

// PutBulk notes a bulk operation that begins.
func PutBulk(ctx context.Context, tx *sqldb.Tx, b Bulk) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_bulks (id, kind, epoch, status, repository_id, place, options, principal, listed, source, resumed, stalled, started_at, started_by, ended_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', 0, 0, $9, $10, 0)`,
		b.ID, b.Kind, b.Epoch, Running, b.RepositoryID, b.Place, b.Options, b.Principal, sqldb.Millis(b.StartedAt), b.StartedBy)
	return err
}

// GetBulk reads a bulk operation; sql.ErrNoRows when there is none.
func GetBulk(ctx context.Context, r sqldb.Reader, id string) (b Bulk, err error) {
	var listed, started int64
	err = r.QueryRow(ctx, `SELECT id, kind, epoch, status, repository_id, place, options, principal, listed, source, resumed, stalled, started_at, started_by
		FROM ws_bulks WHERE id = $1`, id).
		Scan(&b.ID, &b.Kind, &b.Epoch, &b.Status, &b.RepositoryID, &b.Place, &b.Options, &b.Principal, &listed, &b.Source, &b.Resumed, &b.Stalled, &started, &b.StartedBy)
	b.Listed, b.StartedAt = listed == 1, sqldb.Time(started)
	return b, err
}

// FreezeBulk keeps the workspaces of a bulk operation, for whoever works on it.
func FreezeBulk(ctx context.Context, tx *sqldb.Tx, b Bulk, items []BulkItem) error {
	n, err := tx.Exec(ctx, `UPDATE ws_bulks SET listed = 1, source = $1, options = $2 WHERE id = $3 AND epoch = $4 AND listed = 0 AND status = '`+Running+`'`,
		b.Source, b.Options, b.ID, b.Epoch)
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	for i := 0; i < len(items) && err == nil; i++ {
		_, err = tx.Exec(ctx, `INSERT INTO ws_bulk_items (bulk_id, position, item, outcome) VALUES ($1, $2, $3, $4)`, b.ID, items[i].Position, items[i].Item, items[i].Outcome)
	}
	return err
}

// BulkItems lists the workspaces of a bulk operation in their order.
func BulkItems(ctx context.Context, r sqldb.Reader, id string) ([]BulkItem, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (item BulkItem, err error) {
		return item, rows.Scan(&item.Position, &item.Item, &item.Outcome)
	}, `SELECT position, item, outcome FROM ws_bulk_items WHERE bulk_id = $1 ORDER BY position`, id)
}

// PutOutcome keeps what came of a workspace, for whoever works on the bulk operation, and tells whether it was not known yet.
func PutOutcome(ctx context.Context, tx *sqldb.Tx, b Bulk, item BulkItem) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_bulks SET stalled = 0 WHERE id = $1 AND epoch = $2 AND status = '`+Running+`'`, b.ID, b.Epoch)
	if err != nil || n == 0 {
		return false, err
	}
	n, err = tx.Exec(ctx, `UPDATE ws_bulk_items SET outcome = $1 WHERE bulk_id = $2 AND position = $3 AND outcome = ''`, item.Outcome, b.ID, item.Position)
	return n == 1, err
}

// TakeBulk gives a bulk operation to somebody else.
func TakeBulk(ctx context.Context, tx *sqldb.Tx, b Bulk) error {
	_, err := tx.Exec(ctx, `UPDATE ws_bulks SET epoch = $1, resumed = $2, stalled = $3 WHERE id = $4`, b.Epoch, b.Resumed, b.Stalled, b.ID)
	return err
}

// EndBulk ends a bulk operation for whoever works on it, and tells whether it was running until now.
func EndBulk(ctx context.Context, tx *sqldb.Tx, b Bulk, at time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ws_bulks SET status = 'ended', ended_at = $1 WHERE id = $2 AND epoch = $3 AND status = '`+Running+`'`, sqldb.Millis(at), b.ID, b.Epoch)
	return n == 1, err
}

// ForgetBulks removes the bulk operations whose operation was removed.
func ForgetBulks(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := tx.Exec(ctx, `DELETE FROM ws_bulks WHERE status <> '`+Running+`' AND id NOT IN (SELECT id FROM ws_operations)`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM ws_bulk_items WHERE bulk_id NOT IN (SELECT id FROM ws_bulks)`)
	return err
}

// FenceOperation notes that an operation changed hands.
func FenceOperation(ctx context.Context, tx *sqldb.Tx, id string, epoch int64) error {
	_, err := tx.Exec(ctx, `UPDATE ws_operations SET epoch = $1 WHERE id = $2`, epoch, id)
	return err
}

// EndLease ends the lease of an operation that has not changed hands.
func EndLease(ctx context.Context, tx *sqldb.Tx, id string, epoch int64) error {
	_, err := tx.Exec(ctx, `UPDATE ws_operations SET lease_until = 0 WHERE id = $1 AND epoch = $2 AND status = '`+Running+`'`, id, epoch)
	return err
}

// ExtendLock lengthens the lock of a workspace that Hold has read.
func ExtendLock(ctx context.Context, tx *sqldb.Tx, workspaceID string, until time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE ws_workspaces SET lock_until = $1 WHERE id = $2 AND lock_until <> 0`, sqldb.Millis(until), workspaceID)
	return err
}

// Everything lists workspaces without asking who may read them: it is for whoever checks each of them.
func Everything(ctx context.Context, r sqldb.Reader, q workspaces.ListQuery) ([]workspaces.Workspace, int, error) {
	return List(ctx, r, access.Filter{SQL: "1 = 1"}, q)
}
