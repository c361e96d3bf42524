// Package code runs the functions that users write in JavaScript. They run in worker processes of this program, which have
// neither network nor files nor secrets, and are killed at the deadline. A process that has run the code of a workspace never
// serves another one.
package code

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"atelier/internal/automation/internal/code/spawn"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Deps is what the package needs.
type Deps struct {
	Log   *slog.Logger
	Clock clock.Clock
	// DB keeps the functions that are deployed through the API. It has the package's Migrations.
	DB *sqldb.DB
	// Allow is asked before somebody deploys or runs functions through the API; nil allows everything.
	Allow  func(ctx context.Context, workspaceID, action string) error
	Limits Limits
	// Turns tells which workspaces use much of the processors: their calls get what the others leave. Nil is none.
	Turns *turns.Turns
	// Program is what is started as a worker. The zero value is none, and nothing runs: a program that is no worker must not be
	// started as one.
	Program Program
}

// Limits bound what code may use. Zero values become the defaults.
type Limits struct {
	// Time is how long a call may take, 20 s by default; waiting for a process may take as long again.
	Time time.Duration
	// Heap is how many bytes the values of a call may take, 100 MB; Output how many its result, 1 MB; Request how many its
	// parameters and code, 20 MB.
	Heap            int64
	Output, Request int
	// Processes is how many workers there are at most, Spares how many of them wait for a workspace. Idle is how long the one
	// of a workspace is kept for its cache.
	Processes, Spares int
	Idle              time.Duration
}

// ThisProgram is the program that runs, which serves as a worker when its first argument is worker, and starts them when it is nursery.
func ThisProgram() Program {
	return Program{Args: []string{"atelier", "worker"}, Nursery: []string{"atelier", "nursery"}}
}

// Program is a program that serves as a worker.
type Program struct {
	// Path is its file, this program's own when it is empty; Args is what it is called by, and its arguments.
	Path string
	Args []string
	// Nursery are the arguments by which the program starts workers in the place of this process; without them it does so itself.
	Nursery []string
	// Plain starts it without namespaces of its own, as where the system does not allow them.
	Plain bool
}

const (
	// mostWaiting is how many calls may wait for a process.
	mostWaiting = 1000
	// killAfter is by how much a worker may miss the deadline before it is killed: until then it says itself that a call took too
	// long, and what it had logged.
	killAfter = time.Second
	// retireAfter is how long a process may have worked in all. Its own limit on processor time is far above that.
	retireAfter = 10 * time.Minute
	// startLimit is how long a process may take to be ready.
	startLimit = 30 * time.Second
	// logRoom is what the lines that a call logs may add to its answer.
	logRoom = 1 << 20
)

func (l Limits) withDefaults() Limits {
	const megabyte = 1 << 20
	l.Time = orDefault(l.Time, 20*time.Second)
	l.Heap = orDefault(l.Heap, 100*megabyte)
	l.Output = orDefault(l.Output, megabyte)
	l.Request = orDefault(l.Request, 20*megabyte)
	l.Processes = orDefault(l.Processes, max(8, 4*runtime.GOMAXPROCS(0)))
	l.Spares = min(orDefault(l.Spares, 2), l.Processes)
	l.Idle = orDefault(l.Idle, 10*time.Minute)
	return l
}

func orDefault[T int | int64 | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}

// Code runs functions.
type Code struct {
	deps   Deps
	limits Limits

	mu      sync.Mutex
	tenants map[string]*tenant
	spares  []*process
	// alive is how many processes there are, those that are being started among them.
	alive   int
	started uint64 // how many were ever started
	wanted  bool   // somebody has called: before that no process is kept ready
	queue   []*waiter
	stopped bool
	// isolated is what was found out about namespaces: nil before the first process.
	isolated *bool
	shields  []string

	// Both have a place for everybody who may start a process now.
	starting, startingHeavy chan struct{}
	closing                 sync.Once // before the first process
	nursery                 *spawn.Nursery
	running                 sync.WaitGroup // processes that have not ended, and who keeps them
	wake                    chan struct{}
	ending                  chan struct{}
}

// New makes it. Without Start it works too, but keeps no process ready and none of them ends for being idle; Stop ends it all.
func New(deps Deps) *Code {
	return &Code{
		nursery: spawn.NewNursery(spawn.Order{Path: deps.Program.Path, Args: deps.Program.Nursery}),
		deps:    deps, limits: deps.Limits.withDefaults(), tenants: map[string]*tenant{},
		starting: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), startingHeavy: make(chan struct{}, 1), wake: make(chan struct{}, 1), ending: make(chan struct{}),
	}
}

// Start keeps spare processes ready from the first call on.
func (c *Code) Start(context.Context) error {
	c.running.Go(c.keep)
	return nil
}

// Shields names what keeps the newest worker from the machine: limits, namespaces, an empty root, no_new_privs, landlock, no
// capabilities, seccomp. There are none before the first one has started.
func (c *Code) Shields() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.shields)
}

// Stop ends every process and waits until they are gone. Calls that run fail.
func (c *Code) Stop(ctx context.Context) error {
	c.mu.Lock()
	first := !c.stopped
	c.stopped = true
	doomed := c.spares
	c.spares = nil
	for _, t := range c.tenants {
		for p := range t.processes {
			doomed = append(doomed, p)
		}
	}
	queue := c.queue
	c.queue = nil
	c.mu.Unlock()
	if first {
		close(c.ending)
	}
	for _, w := range queue {
		w.granted <- grant{}
	}
	for _, p := range doomed {
		p.kill()
	}
	gone := make(chan struct{})
	go func() { c.running.Wait(); c.nursery.Close(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep has spare processes started and idle ones ended, until the end.
func (c *Code) keep() {
	for {
		c.endIdle()
		c.fillSpares()
		timer := c.deps.Clock.NewTimer(min(c.limits.Idle, time.Minute) / 2)
		select {
		case <-c.ending:
			timer.Stop()
			return
		case <-c.wake:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// rouse has the keeper look what is to be done.
func (c *Code) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// endIdle ends the processes that nobody has needed for a while.
func (c *Code) endIdle() {
	oldest := c.deps.Clock.Now().Add(-c.limits.Idle)
	var doomed []*process
	c.mu.Lock()
	for _, t := range c.tenants {
		for _, p := range t.idle {
			if p.idleSince.Before(oldest) {
				doomed = append(doomed, p)
			}
		}
	}
	for _, p := range doomed {
		c.forget(p)
	}
	c.mu.Unlock()
	for _, p := range doomed {
		p.end()
	}
}

// spares is the workspace, as it were, that processes are started for which wait for one.
const spares = "spare workers of custom code"

// fillSpares starts processes until enough of them wait for a workspace.
func (c *Code) fillSpares() {
	for {
		c.mu.Lock()
		enough := !c.wanted || c.stopped || len(c.spares) >= c.limits.Spares || c.alive >= c.limits.Processes
		if !enough {
			c.alive++
		}
		c.mu.Unlock()
		if enough {
			return
		}
		p, err := c.start(c.deps.Turns.Of(spares))
		c.mu.Lock()
		if err != nil {
			c.alive--
			c.mu.Unlock()
			c.deps.Log.Error("a worker for custom code does not start", "error", err)
			return
		}
		if c.stopped {
			c.mu.Unlock()
			p.kill()
			return
		}
		c.spares = append(c.spares, p)
		c.dispatch()
		c.mu.Unlock()
	}
}
