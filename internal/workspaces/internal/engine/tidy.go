package engine

import (
	"context"
	"log/slog"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// How often the service looks for what is to be tidied: operations whose process is gone, and everything else.
const (
	recoverEvery = 2 * time.Second
	tidyEvery    = time.Hour
)

// Tidy keeps workspaces in order until the context ends.
func (e *Engine) Tidy(ctx context.Context, log *slog.Logger) error {
	var tidied time.Time
	for {
		if err := e.Definitions.Recover(ctx, false); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "interrupted operations could not be rolled back", "error", err)
		}
		if now := e.Clock.Now(); now.Sub(tidied) >= tidyEvery {
			tidied = now
			if err := e.TidyOnce(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "workspaces could not be tidied", "error", err)
			}
		}
		if !e.pause(ctx) {
			return nil
		}
	}
}

func (e *Engine) pause(ctx context.Context) bool {
	timer := e.Clock.NewTimer(recoverEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// operationAge is how long an operation that has ended can be asked for.
const operationAge = 7 * 24 * time.Hour

// TidyOnce empties the bin and forgets old history.
func (e *Engine) TidyOnce(ctx context.Context) error {
	if err := e.EmptyBin(ctx); err != nil {
		return err
	}
	err := e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := store.ForgetOperations(ctx, tx, e.now().Add(-operationAge)); err != nil {
			return err
		}
		return store.ForgetBulks(ctx, tx)
	})
	if err != nil {
		return err
	}
	return e.ForgetHistory(ctx)
}

// workspacesAtOnce is how many workspaces one round of forgetting looks at.
const workspacesAtOnce = 100

// ForgetHistory removes edits that are older than they need to be, and the texts that nothing names any more.
func (e *Engine) ForgetHistory(ctx context.Context) error {
	before := e.now().Add(-e.Definitions.HistoryAge)
	for {
		ids, err := store.WithHistoryBefore(ctx, e.DB, before, workspacesAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			err := e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
				if held, err := hold(ctx, tx, id); err != nil || held == "" {
					return err // one that was deleted a moment ago keeps what it has
				}
				if _, err := store.PruneHistory(ctx, tx, id, before); err != nil {
					return err
				}
				_, err := store.SweepTexts(ctx, tx, id)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
}
