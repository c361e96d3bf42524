package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

// leastEvents is how many acknowledged events per second the embedded log must take.
const leastEvents = 5000

// appendEvents measures the event log itself: acknowledged appends, each one event, on SQLite with full sync.
func appendEvents(ctx context.Context, span time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "atelier-log-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "log.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := sqldb.Migrate(ctx, db, time.Now(), sqlbus.Migrations()); err != nil {
		return err
	}
	log, err := sqlbus.Open(db, clock.System{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	began := time.Now()
	count, err := appendUntil(ctx, log, began.Add(span))
	if err != nil {
		return err
	}
	rate := float64(count) / time.Since(began).Seconds()
	fmt.Printf("\nevent log, %d concurrent callers, SQLite with full sync: %.0f acknowledged events/s (target: %d)\n", callers, rate, leastEvents)
	if rate < leastEvents {
		return errors.New("below target: event log")
	}
	return nil
}

func appendUntil(ctx context.Context, log bus.Log, end time.Time) (int64, error) {
	body := []byte(`{"payload":{"text":"` + strings.Repeat("x", 250) + `"}}`)
	var count atomic.Int64
	failures := make([]error, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			record := bus.Record{WorkspaceID: "w" + strconv.Itoa(i), Type: "load.tick", Body: body}
			for time.Now().Before(end) && failures[i] == nil {
				if _, failures[i] = log.Append(ctx, record); failures[i] == nil {
					count.Add(1)
				}
			}
		})
	}
	wait.Wait()
	return count.Load(), errors.Join(failures...)
}
