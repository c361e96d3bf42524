package identity

import (
	"context"
	"log/slog"
	"time"

	"atelier/internal/sqldb"
)

const (
	sweepEvery = 10 * time.Minute
	sweepBatch = 500
)

// Sweep removes sessions and passing accounts that have expired, in small steps, until ctx ends.
func (i *Identity) Sweep(ctx context.Context, log *slog.Logger) error {
	for {
		timer := i.deps.Clock.NewTimer(sweepEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		if err := i.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "expired sessions could not be removed; the next sweep tries again", "error", err.Error())
		}
	}
}

// sweepOnce removes everything that has expired by now. A token is accepted for a little longer than it says, so its
// session stays as long.
func (i *Identity) sweepOnce(ctx context.Context) error {
	before := sqldb.Millis(i.deps.Clock.Now().Add(-2 * leeway))
	for _, statement := range []string{
		`DELETE FROM gw_sessions WHERE id IN (SELECT id FROM gw_sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
		`DELETE FROM gw_users WHERE id IN (SELECT id FROM gw_users WHERE anonymous = 1 AND expires_at < $1 ORDER BY expires_at LIMIT $2)`,
	} {
		for removed := int64(sweepBatch); removed == sweepBatch; {
			err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
				removed, err = tx.Exec(ctx, statement, before, sweepBatch)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
