// Package limits is the instruction rateLimit: an automation counts what a consumer does, and stops when that is too much.
// It counts in fixed windows, in the database, so that all instances count together and a run that is begun anew counts nothing
// twice.
package limits

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"time"

	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the table of windows.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "limits", Files: steps}
}

// Limits counts.
type Limits struct {
	log   *slog.Logger
	clock clock.Clock
	db    *sqldb.DB
}

// New returns the limits of an installation. Nothing runs in them by themselves.
func New(log *slog.Logger, clk clock.Clock, db *sqldb.DB) *Limits {
	return &Limits{log: log, clock: clk, db: db}
}

// Ask is what somebody wants to use of a limit.
type Ask struct {
	WorkspaceID    string
	Name, Consumer string
	Window         time.Duration
	Limit, Consume int64
}

// Answer says whether it may.
type Answer struct {
	OK        bool
	Remaining int64
	// RetryAfter is how long until the window ends; zero when there is something to use now.
	RetryAfter time.Duration
}

// Take uses some of a limit, in the caller's transaction. What is refused uses nothing.
func (l *Limits) Take(ctx context.Context, tx *sqldb.Tx, ask Ask) (Answer, error) {
	now := l.clock.Now()
	var used, ends int64
	// It locks the window, also when nothing of it changes.
	err := tx.QueryRow(ctx, `INSERT INTO rt_limits (workspace_id, name, consumer, period, used, ends_at) VALUES ($1, $2, $3, $4, 0, $5)
		ON CONFLICT (workspace_id, name, consumer, period) DO UPDATE SET
			used = CASE WHEN rt_limits.ends_at <= $6 THEN 0 ELSE rt_limits.used END,
			ends_at = CASE WHEN rt_limits.ends_at <= $6 THEN excluded.ends_at ELSE rt_limits.ends_at END
		RETURNING used, ends_at`,
		ask.WorkspaceID, ask.Name, ask.Consumer, ask.Window.Milliseconds(), sqldb.Millis(now.Add(ask.Window)), sqldb.Millis(now)).Scan(&used, &ends)
	if err != nil {
		return Answer{}, err
	}
	left := ask.Limit - used
	if ask.Consume > left {
		return Answer{Remaining: max(left, 0), RetryAfter: max(sqldb.Time(ends).Sub(now), time.Millisecond)}, nil
	}
	_, err = tx.Exec(ctx, `UPDATE rt_limits SET used = used + $5 WHERE workspace_id = $1 AND name = $2 AND consumer = $3 AND period = $4`,
		ask.WorkspaceID, ask.Name, ask.Consumer, ask.Window.Milliseconds(), ask.Consume)
	return Answer{OK: true, Remaining: left - ask.Consume}, err
}

// Forget removes all windows of a workspace, in the caller's transaction.
func (l *Limits) Forget(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM rt_limits WHERE workspace_id = $1`, workspaceID)
	return err
}

const (
	tidyEvery = time.Minute
	// tidyAtOnce bounds how long one transaction keeps others waiting.
	tidyAtOnce = 1000
)

// Tidy removes windows that have ended, until ctx ends.
func (l *Limits) Tidy(ctx context.Context) error {
	for {
		timer := l.clock.NewTimer(tidyEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		if _, err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "windows of limits that have ended could not be removed", "error", err)
		}
	}
}

// Sweep removes the windows that have ended now, and tells how many.
func (l *Limits) Sweep(ctx context.Context) (removed int64, err error) {
	now := sqldb.Millis(l.clock.Now())
	for {
		var some int64
		err := l.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
			// The outer condition is looked at again where a window has begun anew meanwhile, the inner one is not.
			some, err = tx.Exec(ctx, `DELETE FROM rt_limits WHERE ends_at <= $1 AND (workspace_id, name, consumer, period) IN
				(SELECT workspace_id, name, consumer, period FROM rt_limits WHERE ends_at <= $1 LIMIT $2)`, now, tidyAtOnce)
			return err
		})
		removed += some
		if err != nil || some < tidyAtOnce {
			return removed, err
		}
	}
}
