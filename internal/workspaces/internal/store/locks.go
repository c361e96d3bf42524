package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// SetLock gives a workspace that Hold has read a lock, or takes it away: the epoch grows either way.
func SetLock(ctx context.Context, tx *sqldb.Tx, workspaceID string, lock workspaces.Lock) (epoch int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE ws_workspaces SET lock_reason = $1, lock_by = $2, lock_at = $3, lock_until = $4, lock_epoch = lock_epoch + 1
		WHERE id = $5 RETURNING lock_epoch`, lock.Reason, lock.By, millisSet(lock.At), millisSet(lock.Until), workspaceID).Scan(&epoch)
	return epoch, err
}

// Operation is something long that holds the lock of a workspace.
type Operation struct {
	ID, WorkspaceID, Kind string
	Epoch                 int64
	StartedAt             time.Time
	StartedBy             string
	LeaseUntil            time.Time
}

// PutOperation notes an operation.
func PutOperation(ctx context.Context, tx *sqldb.Tx, o Operation) error {
	_, err := tx.Exec(ctx, `INSERT INTO ws_operations (id, workspace_id, kind, epoch, started_at, started_by, lease_until) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		o.ID, o.WorkspaceID, o.Kind, o.Epoch, sqldb.Millis(o.StartedAt), o.StartedBy, sqldb.Millis(o.LeaseUntil))
	return err
}

// DeleteOperation forgets an operation that has ended, and tells whether it was known.
func DeleteOperation(ctx context.Context, tx *sqldb.Tx, id string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_operations WHERE id = $1`, id)
	return n == 1, err
}

// LostOperations lists the operations whose lease ended before a time: their process is gone.
func LostOperations(ctx context.Context, r sqldb.Reader, before time.Time) ([]Operation, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (o Operation, err error) {
		var started, lease int64
		err = rows.Scan(&o.ID, &o.WorkspaceID, &o.Kind, &o.Epoch, &started, &o.StartedBy, &lease)
		o.StartedAt, o.LeaseUntil = sqldb.Time(started), sqldb.Time(lease)
		return o, err
	}, `SELECT id, workspace_id, kind, epoch, started_at, started_by, lease_until FROM ws_operations WHERE lease_until < $1 ORDER BY id`, sqldb.Millis(before))
}
