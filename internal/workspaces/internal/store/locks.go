package store

import (
	"context"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// SetLock gives a workspace that Hold has read a lock, or takes it away: the epoch grows either way.
func SetLock(ctx context.Context, tx *sqldb.Tx, workspaceID string, lock workspaces.Lock) (epoch int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE ws_workspaces SET lock_reason = $1, lock_by = $2, lock_at = $3, lock_until = $4, lock_epoch = lock_epoch + 1
		WHERE id = $5 RETURNING lock_epoch`, lock.Reason, lock.By, millisSet(lock.At), millisSet(lock.Until), workspaceID).Scan(&epoch)
	return epoch, err
}
