package contexts

import (
	"context"
	"time"

	"atelier/internal/sqldb"
)

const (
	tidyEvery = time.Minute
	// tidyAtOnce bounds how long one transaction keeps others waiting.
	tidyAtOnce = 1000
)

// Tidy removes contexts that have expired, until ctx ends.
func (s *Store) Tidy(ctx context.Context) error {
	for {
		timer := s.deps.Clock.NewTimer(tidyEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "expired contexts could not be removed", "error", err)
		}
	}
}

// Sweep removes the contexts that have expired now, and tells how many.
func (s *Store) Sweep(ctx context.Context) (removed int64, err error) {
	now := sqldb.Millis(s.deps.Clock.Now())
	for {
		var some int64
		err := s.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
			// The outer condition is looked at again where a row was saved meanwhile, the inner one is not.
			some, err = tx.Exec(ctx, `DELETE FROM rt_contexts WHERE expires_at > 0 AND expires_at <= $1 AND (workspace_id, kind, id) IN
				(SELECT workspace_id, kind, id FROM rt_contexts WHERE expires_at > 0 AND expires_at <= $1 LIMIT $2)`, now, tidyAtOnce)
			return err
		})
		removed += some
		if err != nil || some < tidyAtOnce {
			return removed, err
		}
	}
}
