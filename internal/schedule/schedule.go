// Package schedule does things at the times that cron expressions name, each tick once in the whole cluster.
//
// Three rules hold. A tick is done by one instance; when that one is killed, another does the same tick again, so a job can be
// repeated. Ticks that passed while nothing ran are made up for by one run, as soon as something runs. In a time zone with summer
// time, a tick in the hour that is skipped comes an hour later, and one in the hour that is repeated comes once.
package schedule

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"atelier/internal/clock"
	"atelier/internal/dsul/cron"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the table of jobs.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "schedule", Files: steps}
}

// Job is something that is done at times.
type Job struct {
	// Name identifies the job across restarts and instances.
	Name string
	// At says when, in the zone.
	At   cron.Schedule
	Zone *time.Location
	// Do does the work of a tick. It is called again for the same tick after a crash. ctx ends when the instance stops, or has
	// lost the tick to another one.
	Do func(ctx context.Context, tick time.Time) error
}

// Runner runs jobs.
type Runner struct {
	DB    *sqldb.DB
	Clock clock.Clock
	Log   *slog.Logger
}

const (
	// lease is how long an instance that says nothing keeps a tick.
	lease = 2 * time.Minute
	// look is how often an instance looks for ticks that others have left.
	look = time.Minute
)

// Run does the jobs until ctx ends, and waits for those under way.
func (r *Runner) Run(ctx context.Context, jobs ...Job) error {
	var all sync.WaitGroup
	defer all.Wait()
	for _, job := range jobs {
		all.Go(func() { r.keep(ctx, job) })
	}
	<-ctx.Done()
	return nil
}

// keep does one job, tick after tick.
func (r *Runner) keep(ctx context.Context, job Job) {
	for ctx.Err() == nil {
		next, err := r.Round(ctx, job)
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "a scheduled job failed", "job", job.Name, "error", err)
		}
		timer := r.Clock.NewTimer(min(max(next.Sub(r.Clock.Now()), time.Second), look))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// Round does the tick of a job that is due, if there is one and no other instance has it, and tells when the next one is.
func (r *Runner) Round(ctx context.Context, job Job) (next time.Time, err error) {
	now := r.Clock.Now()
	held, err := r.claim(ctx, job, now)
	if err != nil || held.running == 0 {
		return held.nextTime(now), err
	}
	failure := r.do(ctx, job, held)
	if err := r.release(ctx, job, held, failure); err != nil {
		return held.nextTime(now), err
	}
	return held.nextTime(now), failure
}

// do runs the job while the lease is kept. A panic of a job is its failure, not that of the process.
func (r *Runner) do(ctx context.Context, job Job, held row) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		defer cancel()
		r.renew(ctx, job, held)
	})
	defer keeping.Wait()
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			r.Log.ErrorContext(ctx, "a scheduled job panicked", "job", job.Name, "panic", fmt.Sprint(problem), "stack", string(debug.Stack()))
			err = fmt.Errorf("the job %s panicked", job.Name)
		}
	}()
	return job.Do(ctx, sqldb.Time(held.running).In(job.zone()))
}

// renew keeps the lease until ctx ends, or returns when it was lost.
func (r *Runner) renew(ctx context.Context, job Job, held row) {
	for {
		timer := r.Clock.NewTimer(lease / 4)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		mine, err := r.extend(ctx, job, held)
		if err == nil && !mine {
			return
		}
	}
}

func (j Job) zone() *time.Location {
	if j.Zone == nil {
		return time.UTC
	}
	return j.Zone
}

// Next is the first tick after a time.
func (j Job) Next(after time.Time) (time.Time, bool) {
	zone := j.zone()
	wall := onWall(after.In(zone))
	for {
		tick, ok := j.At.Next(wall)
		if !ok {
			return time.Time{}, false
		}
		if at := inZone(tick, zone); at.After(after) {
			return at, true
		}
		wall = tick // the hour is repeated, and this tick was when it came first
	}
}

// inZone is when the clock on the wall of a zone shows a time first; a time that it never shows is as much later as it jumps.
func inZone(wall time.Time, zone *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	const longest = 3 * time.Hour // that clocks are ever set back
	_, before := at.Add(-longest).Zone()
	if first := wall.Add(-time.Duration(before) * time.Second); onWall(first.In(zone)).Equal(wall) {
		return first.In(zone)
	}
	return at
}

// onWall is what the clock on the wall shows, as if it were UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
