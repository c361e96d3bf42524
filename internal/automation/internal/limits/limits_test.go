package limits_test

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/limits"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type bench struct {
	t     *testing.T
	db    *sqldb.DB
	clock *clock.Manual
	*limits.Limits
}

func each(t *testing.T, run func(b *bench)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		clk := clock.NewManual(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		run(&bench{t: t, db: db, clock: clk, Limits: limits.New(slog.New(slog.DiscardHandler), clk, db)})
	}, limits.Migrations())
}

func (b *bench) take(ask limits.Ask) (answer limits.Answer) {
	b.t.Helper()
	err := b.db.Tx(b.t.Context(), func(tx *sqldb.Tx) (err error) {
		answer, err = b.Take(b.t.Context(), tx, ask)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}

func ask(consumer string, consume int64) limits.Ask {
	return limits.Ask{WorkspaceID: "w", Name: "calls", Consumer: consumer, Window: time.Minute, Limit: 5, Consume: consume}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		other := ask("a", 5)
		other.WorkspaceID = "v"
		longer := ask("a", 5)
		longer.Window = time.Hour
		for i, c := range []struct {
			after time.Duration
			ask   limits.Ask
			want  limits.Answer
		}{
			{0, ask("a", 3), limits.Answer{OK: true, Remaining: 2}},
			{time.Second, ask("a", 3), limits.Answer{Remaining: 2, RetryAfter: 59 * time.Second}}, // and used nothing
			{0, ask("a", 0), limits.Answer{OK: true, Remaining: 2}},
			{0, ask("a", 2), limits.Answer{OK: true}},
			{0, ask("a", 1), limits.Answer{RetryAfter: 59 * time.Second}},
			{0, ask("b", 5), limits.Answer{OK: true}},
			{0, other, limits.Answer{OK: true}},
			{0, longer, limits.Answer{OK: true}},
			{58 * time.Second, ask("a", 1), limits.Answer{RetryAfter: time.Second}},
			{time.Second, ask("a", 1), limits.Answer{OK: true, Remaining: 4}},                          // the window has ended
			{30 * time.Second, ask("a", 9), limits.Answer{Remaining: 4, RetryAfter: 30 * time.Second}}, // the next began with its first use
		} {
			b.clock.Advance(c.after)
			if got := b.take(c.ask); got != c.want {
				b.t.Errorf("%d: %+v, want %+v", i, got, c.want)
			}
		}
	})
}

// Many at the same time use no more than there is.
func TestCrowd(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var crowd sync.WaitGroup
		var taken atomic.Int64
		for range 20 {
			crowd.Go(func() {
				if b.take(ask("a", 1)).OK {
					taken.Add(1)
				}
			})
		}
		crowd.Wait()
		if taken.Load() != 5 {
			b.t.Errorf("%d were let through, want 5", taken.Load())
		}
	})
}

// What is undone with its transaction was not used.
func TestUndone(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		undone := errors.New("undone")
		err := b.db.Tx(b.t.Context(), func(tx *sqldb.Tx) error {
			if _, err := b.Take(b.t.Context(), tx, ask("a", 5)); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			b.t.Fatal(err)
		}
		if got := b.take(ask("a", 5)); !got.OK {
			b.t.Errorf("%+v", got)
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.take(ask("a", 5))
		b.clock.Advance(30 * time.Second)
		b.take(ask("b", 5))
		b.clock.Advance(30 * time.Second)
		if n, err := b.Sweep(b.t.Context()); err != nil || n != 1 {
			b.t.Errorf("%d %v", n, err)
		}
		if got := b.take(ask("b", 1)); got.OK {
			b.t.Error("a window was removed that had not ended")
		}
		if err := b.db.Tx(b.t.Context(), func(tx *sqldb.Tx) error { return b.Forget(b.t.Context(), tx, "w") }); err != nil {
			b.t.Fatal(err)
		}
		if got := b.take(ask("b", 1)); !got.OK {
			b.t.Error("a window was kept of a workspace that is gone")
		}
	})
}
