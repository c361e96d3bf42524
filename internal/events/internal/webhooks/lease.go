package webhooks

import (
	"context"
	"database/sql"

	"atelier/internal/sqldb"
)

// Reclaim ends every lease. It is for a process that knows that it is alone: what it held before it was killed need not wait.
func (w *Webhooks) Reclaim(ctx context.Context) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE ev_subscriptions SET owner = '', lease_until = 0 WHERE lease_until > 0`)
		return err
	})
}

// waiting reads the subscriptions with something to send that no instance works on, the longest waiting first.
func (w *Webhooks) waiting(ctx context.Context, limit int) ([]string, error) {
	return sqldb.All(ctx, w.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT id FROM ev_subscriptions WHERE due_at <= $1 AND state = 'active' AND retry_at <= $1 AND lease_until <= `+w.now+` ORDER BY due_at LIMIT $2`,
		sqldb.Millis(w.Clock.Now()), limit)
}

// take makes a subscription this instance's, unless another one was faster. Whoever had it before cannot record under the
// fence it knows any more.
func (w *Webhooks) take(ctx context.Context, id string) (fence int64, ok bool, err error) {
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `UPDATE ev_subscriptions SET owner = $1, fence = fence + 1, lease_until = `+w.now+` + $2
			WHERE id = $3 AND state = 'active' AND lease_until <= `+w.now+` RETURNING fence`,
			w.instance, w.Settings.Lease.Milliseconds(), id).Scan(&fence)
	})
	if sqldb.IsNotFound(err) {
		return 0, false, nil
	}
	return fence, err == nil, err
}

// renew makes a lease last from now; errLost when it is somebody else's.
func (w *Webhooks) renew(ctx context.Context, id string, fence int64) error {
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE ev_subscriptions SET lease_until = `+w.now+` + $1 WHERE id = $2 AND fence = $3 AND owner = $4`,
			w.Settings.Lease.Milliseconds(), id, fence, w.instance)
		if err == nil && n == 0 {
			err = errLost
		}
		return err
	})
}

// release gives a subscription back with the time at which its queue wants to be looked at. It says false, and keeps it, when
// that is now. With force it is given back in any case.
func (w *Webhooks) release(ctx context.Context, id string, fence int64, force bool) (done bool, err error) {
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		done = true
		var retryAt int64
		err := tx.QueryRow(ctx, `UPDATE ev_subscriptions SET fence = fence WHERE id = $1 AND fence = $2 AND owner = $3 RETURNING retry_at`,
			id, fence, w.instance).Scan(&retryAt)
		if sqldb.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := dueAt(ctx, tx, id) // after the lock: what others have queued is seen
		if err != nil {
			return err
		}
		at = max(at, retryAt)
		if at <= sqldb.Millis(w.Clock.Now()) && !force {
			done = false
			return nil
		}
		_, err = tx.Exec(ctx, `UPDATE ev_subscriptions SET due_at = CASE WHEN state = 'active' THEN CAST($1 AS BIGINT) ELSE CAST($2 AS BIGINT) END, owner = '', lease_until = 0 WHERE id = $3`, at, int64(never), id)
		return err
	})
	return done, err
}
