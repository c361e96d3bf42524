// Package runs starts automations because of events and schedules, each of them once. A run stands in a table until it is done: one
// whose process dies is begun anew by another, and what it did to the platform in its earlier life is not done again.
package runs

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul/cron"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the tables of runs, of what they wait for, and of schedules.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "runs", Files: steps}
}

// Model is a workspace as it is now.
type Model struct {
	Root *machine.Home
	// Suspended and Deleted ones run nothing.
	Suspended, Deleted bool
	// Find gives an automation by its full slug, Listeners those that an event starts, Schedules those that have any. Hears tells by the
	// name of an event whether there may be listeners.
	Find      func(fullSlug string) (*machine.Automation, bool)
	Hears     func(eventType string) bool
	Listeners func(eventType string, source envelope.Source) []*machine.Automation
	Schedules func() []Schedule
}

// Schedule is an automation and when it is due.
type Schedule struct {
	Automation *machine.Automation
	Crons      []string
}

// Models gives workspaces.
type Models interface {
	// Of gives a workspace as it is now; resource_not_found when there is none.
	Of(ctx context.Context, workspaceID string) (Model, error)
}

// Workspaces knows which workspaces there are.
type Workspaces interface {
	// After gives the ids of workspaces that come after one, in the order of their ids.
	After(ctx context.Context, workspaceID string, limit int) ([]string, error)
	// Using gives the ids of workspaces in which an app is installed, however deep.
	Using(ctx context.Context, appSlug string) ([]string, error)
}

// People knows the accounts of the installation.
type People interface {
	// Principal gives the caller that an account, or a session when no account is named, stands for; resource_not_found when
	// neither is known.
	Principal(ctx context.Context, userID, sessionID string) (access.Principal, error)
}

// Engine runs automations: a *machine.Machine.
type Engine interface {
	Execute(ctx context.Context, run *machine.Run, automation *machine.Automation, payload *value.Object) machine.Result
}

// Contexts opens the variables that outlive an automation.
type Contexts interface {
	Open(run *machine.Run) machine.Scopes
}

// Settings are what an operator decides. Zero values stand for the defaults.
type Settings struct {
	// Total is how many runs one instance does at the same time: 64. Share is how many of them may be of one workspace: 16.
	Total, Share int
	// Queue is how many runs of one workspace may wait: 10,000.
	Queue int
	// Timeout is how long a run may take: 15 minutes.
	Timeout time.Duration
	// Grace is how long runs may go on when the process stops: 10 seconds. The rest is begun anew.
	Grace time.Duration
	// Silence is after how long an instance that gives no sign of life is taken for dead: 8 seconds.
	Silence time.Duration
	// Floor is the most frequent schedule: every 15 minutes.
	Floor cron.Schedule
	// Alone tells that no other instance uses the database: what a dead one left is taken over at once.
	Alone bool
}

func (s Settings) withDefaults() Settings {
	const total, share, queue = 64, 16, 10_000
	const timeout, grace, silence = 15 * time.Minute, 10 * time.Second, 8 * time.Second
	s.Total, s.Share, s.Queue = orElse(s.Total, total), orElse(s.Share, share), orElse(s.Queue, queue)
	s.Timeout, s.Grace, s.Silence = orElse(s.Timeout, timeout), orElse(s.Grace, grace), orElse(s.Silence, silence)
	if s.Floor.String() == "" {
		s.Floor, _ = cron.Parse("*/15 * * * *") // cannot fail
	}
	return s
}

func orElse[T int | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}

// Deps is what runs need.
type Deps struct {
	DB         *sqldb.DB
	Bus        bus.Log
	Clock      clock.Clock
	IDs        ident.Source
	Log        *slog.Logger
	Engine     Engine
	Models     Models
	Workspaces Workspaces
	People     People
	Contexts   Contexts
	// Recorder takes the technical events.
	Recorder machine.Recorder
	Waits    *waits.Store
	// Heavy tells that a workspace uses much of the processors; nil says it of none.
	Heavy    func(workspaceID string) bool
	Settings Settings
}

// Runs starts automations.
type Runs struct {
	Deps

	pool    *pool
	owner   owner
	backlog backlog
	finish  chan *job
	careful chan struct{} // held by the one run that may kill the process again
	marked  chan struct{} // a workspace has to be held against its definition
}

// New returns runs that start nothing until Run is called.
func New(deps Deps) *Runs {
	deps.Settings = deps.Settings.withDefaults()
	r := &Runs{
		Deps: deps, finish: make(chan *job, deps.Settings.Total), careful: make(chan struct{}, 1), marked: make(chan struct{}, 1),
	}
	r.pool = newPool(deps.Settings, deps.Heavy)
	return r
}

// consumerName is that of the log's consumer, and of its cursors.
const consumerName = "runtime"

// Run starts automations until ctx ends, sharing the work with the other instances that do. Then it waits for those under way for
// a while, and leaves the rest to be begun anew.
func (r *Runs) Run(ctx context.Context) error {
	if err := r.enter(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	working, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	var started, ending sync.WaitGroup
	var failure error
	started.Go(func() {
		defer cancel() // nothing is of use without the events
		const batch = 200
		failure = r.Bus.Consume(ctx, bus.Consumer{Name: consumerName, Batch: batch, Handle: r.handle})
	})
	for _, work := range []func(context.Context){r.claiming, r.scheduling, r.reconciling} {
		started.Go(func() { work(ctx) })
	}
	heart, still := context.WithCancel(context.WithoutCancel(ctx))
	ending.Go(func() { r.beating(heart) })
	ending.Go(func() { r.finishing(ctx) })
	started.Go(func() { r.hurry(ctx, working, abandon) })
	started.Go(func() {
		defer abandon(errHandedOver) // then nothing is under way any more
		r.pool.run(ctx, func(j *job) { r.do(working, j) })
	})
	started.Wait()
	close(r.finish)
	still()
	ending.Wait()
	return errors.Join(failure, r.leave(ctx))
}

// errHandedOver is why a run ends that goes on elsewhere, or later.
var errHandedOver = errors.New("the run goes on elsewhere")

// hurry ends the runs that wait as soon as the process is asked to stop, and the others when their time is up.
func (r *Runs) hurry(ctx, working context.Context, abandon context.CancelCauseFunc) {
	<-ctx.Done()
	r.pool.handOver()
	timer := r.Clock.NewTimer(r.Settings.Grace)
	defer timer.Stop()
	select {
	case <-timer.C():
		abandon(errHandedOver)
	case <-working.Done():
	}
}

// pause waits; false when ctx ended.
func (r *Runs) pause(ctx context.Context, d time.Duration) bool {
	timer := r.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
