package code

import (
	"context"
	"errors"
	"slices"

	"atelier/internal/automation/internal/machine"
)

// tenant is what a workspace has of the processes.
type tenant struct {
	id        string
	processes map[*process]bool
	idle      []*process // the one that was used first comes first: its cache is the oldest
	busy      int
	starting  int
}

func (t *tenant) count() int { return len(t.processes) + t.starting }

// waiter is a call that waits for a process.
type waiter struct {
	tenant  *tenant
	owner   string
	granted chan grant // has room for one
}

// grant is a process, or the right to start one; or neither, when all ends.
type grant struct {
	process *process
	start   bool
}

var errStopped = errors.New("it is being stopped")

func busyFailure() error {
	return machine.Fail(machine.TooManyCalls, "Too many functions run at this moment, and no process became free in time. Try again later, or make them shorter.")
}

// perTenant is how many processes one workspace may have: never all of them, so that another one always gets its turn.
func (c *Code) perTenant() int { return max(1, c.limits.Processes/2) }

// acquire gives a process to a call: the one that has its cache if it is free. The owner is what a process is for: the functions
// of a workspace, or of an app in it.
func (c *Code) acquire(ctx context.Context, workspaceID, owner string) (*process, error) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil, errStopped
	}
	if !c.wanted {
		c.wanted = true
		c.rouse()
	}
	t := c.tenants[workspaceID]
	if t == nil {
		t = &tenant{id: workspaceID, processes: map[*process]bool{}}
		c.tenants[workspaceID] = t
	}
	given, ok := c.grant(t, owner)
	if ok {
		c.mu.Unlock()
		return c.use(t, owner, given)
	}
	if len(c.queue) >= mostWaiting {
		c.tidy(t)
		c.mu.Unlock()
		return nil, busyFailure()
	}
	w := &waiter{tenant: t, owner: owner, granted: make(chan grant, 1)}
	c.queue = append(c.queue, w)
	c.mu.Unlock()
	timer := c.deps.Clock.NewTimer(c.limits.Time)
	defer timer.Stop()
	select {
	case given := <-w.granted:
		return c.use(t, owner, given)
	case <-ctx.Done():
		return nil, c.leave(w, ctx.Err())
	case <-timer.C():
		return nil, c.leave(w, busyFailure())
	}
}

// leave takes a waiter out of the queue. What it was given meanwhile goes to others.
func (c *Code) leave(w *waiter, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = slices.DeleteFunc(c.queue, func(other *waiter) bool { return other == w })
	select {
	case given := <-w.granted:
		if given.process != nil {
			c.rest(given.process)
		} else if given.start {
			c.alive--
			w.tenant.starting--
		}
		c.dispatch()
	default:
	}
	c.tidy(w.tenant)
	return why
}

// use makes a process of what was granted.
func (c *Code) use(t *tenant, owner string, given grant) (*process, error) {
	if given.process != nil {
		return given.process, nil
	}
	if !given.start {
		return nil, errStopped
	}
	p, err := c.start(c.deps.Turns.Of(t.id))
	c.mu.Lock()
	defer c.mu.Unlock()
	t.starting--
	if err == nil && c.stopped {
		p.kill()
		err = errStopped
	}
	if err != nil {
		c.alive--
		c.dispatch()
		c.tidy(t)
		return nil, err
	}
	c.assign(t, owner, p)
	return p, nil
}

// grant finds what a call can have now: a process that is free and its own, a spare one, or a place for a new one. The lock is
// held.
func (c *Code) grant(t *tenant, owner string) (grant, bool) {
	for i, p := range t.idle {
		if p.owner == owner {
			t.idle = slices.Delete(t.idle, i, i+1)
			t.busy++
			return grant{process: p}, true
		}
	}
	if t.count() >= c.perTenant() {
		if len(t.idle) == 0 {
			return grant{}, false
		}
		c.evict(t.idle[0]) // it is for another app of the same workspace
	}
	if n := len(c.spares); n > 0 {
		p := c.spares[n-1]
		c.spares = c.spares[:n-1]
		c.assign(t, owner, p)
		c.rouse()
		return grant{process: p}, true
	}
	if c.alive >= c.limits.Processes {
		victim := c.longestIdle()
		if victim == nil {
			return grant{}, false
		}
		c.evict(victim)
	}
	c.alive++
	t.starting++
	return grant{start: true}, true
}

// assign makes a process that of a workspace, for good. The lock is held.
func (c *Code) assign(t *tenant, owner string, p *process) {
	p.tenant, p.owner = t, owner
	t.processes[p] = true
	t.busy++
}

// longestIdle is the process that was not used for the longest time; nil when all are busy. The lock is held.
func (c *Code) longestIdle() (found *process) {
	for _, t := range c.tenants {
		for _, p := range t.idle {
			if found == nil || p.idleSince.Before(found.idleSince) {
				found = p
			}
		}
	}
	return found
}

// evict ends an idle process to make place. The lock is held.
func (c *Code) evict(p *process) {
	c.forget(p)
	p.end()
}

// forget takes an idle process out of the books. The lock is held.
func (c *Code) forget(p *process) {
	t := p.tenant
	t.idle = slices.DeleteFunc(t.idle, func(other *process) bool { return other == p })
	delete(t.processes, p)
	c.alive--
	c.tidy(t)
}

// tidy forgets a workspace that has nothing any more. The lock is held.
func (c *Code) tidy(t *tenant) {
	if t.count() > 0 || slices.ContainsFunc(c.queue, func(w *waiter) bool { return w.tenant == t }) {
		return
	}
	if c.tenants[t.id] == t {
		delete(c.tenants, t.id)
	}
}

// release takes a process back after a call, and gives it or its place to who waits.
func (c *Code) release(p *process, healthy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if healthy && !c.stopped && p.worked < retireAfter {
		c.rest(p)
	} else {
		p.tenant.busy--
		delete(p.tenant.processes, p)
		c.alive--
		defer c.tidy(p.tenant)
		p.kill()
		c.rouse()
	}
	c.dispatch()
}

// rest makes a process idle. The lock is held.
func (c *Code) rest(p *process) {
	p.tenant.busy--
	p.idleSince = c.deps.Clock.Now()
	at := slices.IndexFunc(p.tenant.idle, func(other *process) bool { return other.number > p.number })
	if at < 0 {
		at = len(p.tenant.idle)
	}
	p.tenant.idle = slices.Insert(p.tenant.idle, at, p)
}

// dispatch gives what is free to who waits: first to the workspace that has the least, then to who came first. The lock is held.
func (c *Code) dispatch() {
	for {
		order := slices.Clone(c.queue)
		slices.SortStableFunc(order, func(a, b *waiter) int { return a.tenant.busy + a.tenant.starting - b.tenant.busy - b.tenant.starting })
		served := false
		for _, w := range order {
			if given, ok := c.grant(w.tenant, w.owner); ok {
				c.queue = slices.DeleteFunc(c.queue, func(other *waiter) bool { return other == w })
				w.granted <- given
				served = true
				break // who has the least is another one now
			}
		}
		if !served {
			return
		}
	}
}
