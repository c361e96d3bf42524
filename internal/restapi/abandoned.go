package restapi

import (
	"context"
	"time"

	"atelier/internal/sqldb"
)

// Abandon gives up the requests with an Idempotency-Key that were running when the last process ended, so that a repeated
// one need not wait until they are taken for dead. It is for a process that has the database for itself. Older requests
// are taken for dead anyway, so it looks at the newest only: a start must not read the whole table.
func Abandon(ctx context.Context, db *sqldb.DB, now time.Time) error {
	return db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE http_idempotency SET started_at = 0 WHERE expires_at >= $1 AND status = 0`,
			sqldb.Millis(now.Add(keptFor-abandonedAfter)))
		return err
	})
}
