package sqlkv

import (
	"context"
	"log/slog"
	"time"

	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

const (
	sweepEvery = time.Minute
	// sweepBatch bounds how long one transaction of the sweep holds up others.
	sweepBatch = 500
)

// The time is asked for twice: a row renewed between the search and the removal must stay.
const (
	sweepValues = `DELETE FROM kv_values WHERE expires_at <= $1
		AND key IN (SELECT key FROM kv_values WHERE expires_at <= $1 LIMIT $2)`
	sweepLimits = `DELETE FROM kv_limits WHERE sweep_at <= $1
		AND key IN (SELECT key FROM kv_limits WHERE sweep_at <= $1 LIMIT $2)`
)

// sweepLoop is given its first timer, so that a clock moved right after New is not missed.
func (s *Store) sweepLoop(ctx context.Context, timer clock.Timer) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		for _, query := range []string{sweepValues, sweepLimits} {
			if err := s.sweep(ctx, query); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "expired keys were not swept; the next round tries again", slog.Any("error", err))
			}
		}
		timer = s.clock.NewTimer(sweepEvery)
	}
}

func (s *Store) sweep(ctx context.Context, query string) error {
	now := s.now()
	for {
		var removed int64
		err := s.write(ctx, func(tx *sqldb.Tx) (err error) {
			removed, err = tx.Exec(ctx, query, now, sweepBatch)
			return err
		})
		if err != nil || removed < sweepBatch {
			return err
		}
	}
}
