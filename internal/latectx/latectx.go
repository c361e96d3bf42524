// Package latectx makes contexts that cost something only when somebody waits for their end: nearly all requests and runs are over
// before anybody does. Otherwise they are what package context makes.
package latectx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// WithCancel is context.WithCancel.
func WithCancel(parent context.Context) (context.Context, context.CancelFunc) {
	c := &late{parent: parent}
	return c, c.end
}

// WithTimeout is context.WithTimeout.
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithTimeout(parent, timeout)
	}
	c := &late{parent: parent, limited: true, deadline: time.Now().Add(timeout)} //nolint:forbidigo // as package context does
	if earlier, ok := parent.Deadline(); ok && earlier.Before(c.deadline) {
		c.deadline = earlier
	}
	return c, c.end
}

// late is a context that becomes one of package context when that makes a difference.
type late struct {
	parent   context.Context //nolint:containedctx // it is one
	deadline time.Time
	limited  bool

	ended atomic.Bool
	made  atomic.Pointer[made]
	mu    sync.Mutex // of who makes it
}

type made struct {
	context.Context

	cancel context.CancelFunc
}

// make gives the context of package context.
func (c *late) make() *made {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.made.Load(); m != nil {
		return m
	}
	m, parent := &made{}, c.parent
	if c.ended.Load() {
		parent = context.WithoutCancel(parent) // it ended first
	}
	if c.limited {
		m.Context, m.cancel = context.WithDeadline(parent, c.deadline)
	} else {
		m.Context, m.cancel = context.WithCancel(parent)
	}
	c.made.Store(m)
	if c.ended.Load() { // who ends it after this sees what was made
		m.cancel()
	}
	return m
}

// end cancels the context.
func (c *late) end() {
	if c.over() {
		c.make() // it says why, and that is not changed any more
	}
	c.ended.Store(true)
	if m := c.made.Load(); m != nil {
		m.cancel()
	}
}

// over tells that the context has ended, or should have.
func (c *late) over() bool {
	now := time.Now //nolint:forbidigo // as package context does
	return c.ended.Load() || c.parent.Err() != nil || c.limited && !now().Before(c.deadline)
}

// Deadline implements context.Context.
func (c *late) Deadline() (time.Time, bool) {
	if c.limited {
		return c.deadline, true
	}
	return c.parent.Deadline()
}

// Done implements context.Context.
func (c *late) Done() <-chan struct{} { return c.make().Done() }

// Err implements context.Context.
func (c *late) Err() error {
	m := c.made.Load()
	if m == nil {
		if !c.over() {
			return nil
		}
		m = c.make()
	}
	return m.Err()
}

// Value implements context.Context. Contexts made from this one, and context.Cause, find the one of package context by it.
func (c *late) Value(key any) any {
	if m := c.made.Load(); m != nil {
		return m.Value(key)
	}
	if c.ended.Load() { // its cause is looked for by a value
		return c.make().Value(key)
	}
	return c.parent.Value(key)
}
