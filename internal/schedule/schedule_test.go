package schedule_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/dsul/cron"
	"atelier/internal/schedule"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func at(t *testing.T, text string) cron.Schedule {
	t.Helper()
	s, err := cron.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// each runs a test on every engine, with a clock.
func each(t *testing.T, run func(t *testing.T, db *sqldb.DB, clk *clock.Manual)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, db, clock.NewManual(start())) }, schedule.Migrations())
}

func runner(db *sqldb.DB, clk clock.Clock) *schedule.Runner {
	return &schedule.Runner{DB: db, Clock: clk, Log: slog.New(slog.DiscardHandler)}
}

func round(t *testing.T, r *schedule.Runner, job schedule.Job) time.Time {
	t.Helper()
	next, err := r.Round(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Many instances whose clocks differ by seconds see each tick done once.
func TestEachTickOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, clk *clock.Manual) {
		var mu sync.Mutex
		done := map[time.Time]int{}
		job := schedule.Job{Name: "count", At: at(t, "*/5 * * * *"), Do: func(_ context.Context, tick time.Time) error {
			mu.Lock()
			defer mu.Unlock()
			done[tick]++
			return nil
		}}
		var instances []*schedule.Runner
		for _, skew := range []time.Duration{-5 * time.Second, 0, 5 * time.Second} {
			instances = append(instances, runner(db, skewed{clk, skew}))
		}
		for range 24 {
			var all sync.WaitGroup
			for _, r := range instances {
				for range 3 {
					all.Go(func() {
						if _, err := r.Round(t.Context(), job); err != nil {
							t.Error(err)
						}
					})
				}
			}
			all.Wait()
			clk.Advance(150 * time.Second)
		}
		if len(done) != 11 && len(done) != 12 { // an hour, to the edge of which not every clock comes
			t.Errorf("%d ticks were done", len(done))
		}
		for tick, n := range done {
			if n != 1 {
				t.Errorf("%s was done %d times", tick, n)
			}
		}
	})
}

// skewed is a clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// What passed while nothing ran is made up for by one run.
func TestMissedTicks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, clk *clock.Manual) {
		var ticks []time.Time
		r, job := runner(db, clk), schedule.Job{Name: "hourly", At: at(t, "0 * * * *"), Do: func(_ context.Context, tick time.Time) error {
			ticks = append(ticks, tick)
			return nil
		}}
		if next := round(t, r, job); !next.Equal(start().Add(time.Hour)) || len(ticks) != 0 {
			t.Fatalf("the first tick is at %s, done %v", next, ticks)
		}
		clk.Advance(10*time.Hour + time.Minute)
		next := round(t, r, job)
		round(t, r, job)
		if len(ticks) != 1 || !ticks[0].Equal(start().Add(time.Hour)) || !next.Equal(start().Add(11*time.Hour)) {
			t.Errorf("done %v, next %s", ticks, next)
		}
	})
}

// A tick whose instance was killed is done again by another, when the lease is over; a failure is not repeated.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, clk *clock.Manual) {
		var ticks []time.Time
		working, lost := make(chan struct{}), make(chan struct{})
		slow := schedule.Job{Name: "job", At: at(t, "0 * * * *"), Do: func(ctx context.Context, _ time.Time) error {
			close(working)
			<-ctx.Done()
			close(lost)
			return ctx.Err()
		}}
		quick := slow
		quick.Do = func(_ context.Context, tick time.Time) error {
			ticks = append(ticks, tick)
			return errors.New("no luck")
		}
		frozen := clock.NewManual(start()) // an instance that stands still cannot renew its lease
		first, second := runner(db, frozen), runner(db, clk)
		round(t, second, quick)
		frozen.Advance(time.Hour)
		clk.Advance(time.Hour)
		var all sync.WaitGroup
		all.Go(func() { _, _ = first.Round(t.Context(), slow) })
		<-working
		if _, err := second.Round(t.Context(), quick); err != nil || len(ticks) != 0 {
			t.Errorf("the tick was taken from a living instance: %v %v", ticks, err)
		}
		clk.Advance(3 * time.Minute)
		if _, err := second.Round(t.Context(), quick); err == nil || len(ticks) != 1 || !ticks[0].Equal(start().Add(time.Hour)) {
			t.Errorf("done %v: %v", ticks, err)
		}
		for !closed(lost) { // it wakes up, and finds that it has lost the tick
			frozen.Advance(time.Minute)
			runtime.Gosched()
		}
		all.Wait()
		round(t, second, quick)
		if len(ticks) != 1 {
			t.Errorf("a tick that failed was repeated: %v", ticks)
		}
		jobs, err := schedule.Jobs(t.Context(), db)
		if err != nil || len(jobs) != 1 || jobs[0].Error != "no luck" || !jobs[0].Last.Equal(start().Add(time.Hour)) || !jobs[0].Next.Equal(start().Add(2*time.Hour)) {
			t.Errorf("%+v %v", jobs, err)
		}
	})
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// An instance that is stopped leaves its tick to the others at once.
func TestStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, clk *clock.Manual) {
		working := make(chan struct{})
		var runs atomic.Int64
		job := schedule.Job{Name: "job", At: at(t, "* * * * *"), Do: func(ctx context.Context, _ time.Time) error {
			if runs.Add(1) > 1 {
				return nil
			}
			close(working)
			<-ctx.Done()
			return ctx.Err()
		}}
		r := runner(db, clk)
		round(t, r, job)
		clk.Advance(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = r.Run(ctx, job) })
		<-working
		stop()
		all.Wait()
		round(t, r, job)
		if runs.Load() != 2 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// A job that panics fails, and its schedule can be changed.
func TestPanicAndChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, clk *clock.Manual) {
		r, job := runner(db, clk), schedule.Job{Name: "job", At: at(t, "* * * * *"), Do: func(context.Context, time.Time) error {
			var nothing []int
			return errors.New("not reached: " + strconv.Itoa(nothing[beyond(nothing)]))
		}}
		round(t, r, job)
		clk.Advance(time.Minute)
		if _, err := r.Round(t.Context(), job); err == nil {
			t.Error("a panic is no failure")
		}
		job.At, job.Do = at(t, "30 3 * * *"), func(context.Context, time.Time) error { return nil }
		if next := round(t, r, job); !next.Equal(time.Date(2026, 3, 2, 3, 30, 0, 0, time.UTC)) {
			t.Errorf("next %s", next)
		}
	})
}

// Ticks are in the zone of the job, also when clocks are changed.
func TestZones(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	job := schedule.Job{At: at(t, "30 2 * * *"), Zone: paris}
	for _, c := range []struct{ after, want string }{
		{"2026-03-01T12:00:00+01:00", "2026-03-02T02:30:00+01:00"},
		{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00"}, // the hour is skipped
		{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		{"2026-10-24T12:00:00+02:00", "2026-10-25T02:30:00+02:00"}, // the hour is repeated: the first time
		{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		{"2026-10-25T02:15:00+01:00", "2026-10-26T02:30:00+01:00"},
	} {
		after, _ := time.Parse(time.RFC3339, c.after)
		want, _ := time.Parse(time.RFC3339, c.want)
		if got, ok := job.Next(after); !ok || !got.Equal(want) {
			t.Errorf("after %s: %s, want %s", c.after, got.Format(time.RFC3339), c.want)
		}
	}
}

// beyond is an index that a slice does not have.
func beyond(list []int) int { return len(list) }
