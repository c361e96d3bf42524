package consumer

import (
	"context"
	"errors"
	"sync"
)

// Group is the running consumers of a log, which end when the log is closed.
type Group struct {
	ctx    context.Context //nolint:containedctx // the lifetime of the log that owns the group
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewGroup returns an empty group.
func NewGroup() *Group {
	ctx, cancel := context.WithCancel(context.Background())
	return &Group{ctx: ctx, cancel: cancel}
}

// Run calls work with a context that ends with ctx or with the group. The error of a closed group tells that work can
// never run.
func (g *Group) Run(ctx context.Context, work func(context.Context) error) error {
	if !g.enter() {
		return errors.New("the event log is closed")
	}
	defer g.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)() //nolint:contextcheck // either of the two ends the work
	return work(ctx)
}

func (g *Group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Add(1)
	return true
}

// Close ends the running consumers and waits for them.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.running.Wait()
}
