package identity

import (
	"context"
	"log/slog"
	"time"

	"atelier/internal/sqldb"
)

const (
	// flushEvery is how old a noted last use may be.
	flushEvery = 30 * time.Second
	// sweepEvery is after how many of these what has expired is removed.
	sweepEvery = 20
	sweepBatch = 500
)

// Sweep notes last uses, and removes sessions, tokens and passing accounts that have expired, in small steps, until ctx ends.
func (i *Identity) Sweep(ctx context.Context, log *slog.Logger) error {
	for round := 1; ; round++ {
		timer := i.deps.Clock.NewTimer(flushEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return i.flushSeen(context.WithoutCancel(ctx))
		case <-timer.C():
		}
		err := i.flushSeen(ctx)
		if err == nil && round%sweepEvery == 0 {
			err = i.sweepOnce(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "last uses could not be noted, or expired sessions not removed; the next round tries again", "error", err.Error())
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
		`DELETE FROM gw_access_tokens WHERE id IN (SELECT id FROM gw_access_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
		`DELETE FROM gw_one_time WHERE hash IN (SELECT hash FROM gw_one_time WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
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
