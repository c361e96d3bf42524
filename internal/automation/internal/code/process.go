package code

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"atelier/internal/automation/internal/code/spawn"
	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/automation/internal/turns"
)

// process is a worker. One call at a time uses it; whoever kills it may be another one.
type process struct {
	number  uint64 // in the order of starting
	child   *spawn.Child
	in, out *os.File
	reader  *bufio.Reader
	gone    chan struct{} // closed when the process has ended
	ended   sync.Once

	// What it is for; set once, under the lock of the pool.
	tenant *tenant
	owner  string
	// idleSince is when it was last used, under the lock of the pool.
	idleSince time.Time
	// Of the call that has it: what functions it knows, how many calls it had and how long they took.
	library *library
	calls   uint64
	worked  time.Duration
}

// kill ends the process at once. Its owner hears of it through gone.
func (p *process) kill() { _ = p.child.Kill() } // it fails only when the process has ended

// end has an idle process end: it sees that nobody will ask it again.
func (p *process) end() { p.ended.Do(func() { _ = p.in.Close() }) }

// start starts a worker and waits until it is ready. Where namespaces are not allowed it does without. Few do so
// at a time: getting ready is work, and many at once would keep the processors from everybody else. It is work of the share: those of
// heavy ones take turns, and nobody else waits in line with them.
func (c *Code) start(share *turns.Share) (*process, error) {
	places := c.starting
	if share.Heavy() {
		places = c.startingHeavy
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-c.ending:
		return nil, errStopped
	}
	c.mu.Lock()
	known := c.isolated
	c.mu.Unlock()
	if c.deps.Program.Plain || (known != nil && !*known) {
		return c.launch(false, share)
	}
	p, err := c.launch(true, share)
	if err == nil || known != nil {
		c.settleIsolation(true, err == nil, nil)
		return p, err
	}
	reason := err
	p, err = c.launch(false, share)
	c.settleIsolation(false, err == nil, reason)
	return p, err
}

// settleIsolation remembers what the first process has shown, and says once which shields there are not.
func (c *Code) settleIsolation(isolated, works bool, reason error) {
	c.mu.Lock()
	first := c.isolated == nil && works
	if first {
		c.isolated = &isolated
	}
	c.mu.Unlock()
	if first && !isolated {
		c.deps.Log.Warn("custom code runs without namespaces of its own: the system does not allow them", "error", reason)
	}
}

func (c *Code) launch(isolated bool, share *turns.Share) (*process, error) {
	p, err := c.spawn(isolated)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	var ready wire.Ready
	_, err = c.guard(context.Background(), p, startLimit, share, func() ([]byte, error) {
		setup := wire.Setup{
			Version: wire.Version, Heap: c.limits.Heap, Output: c.limits.Output, Request: c.limits.Request + requestRoom, Isolated: isolated,
		}
		if err := wire.Write(p.in, setup, nil); err != nil {
			return nil, err
		}
		return wire.Read(p.reader, readyLimit, &ready)
	})
	if err == nil && ready.Version != wire.Version {
		err = wire.ErrFrame
	}
	if err != nil {
		p.kill()
		<-p.gone
		return nil, fmt.Errorf("a worker does not answer: %w", err)
	}
	c.mu.Lock()
	c.shields = ready.Shields
	c.mu.Unlock()
	return p, nil
}

const (
	readyLimit  = 4096
	requestRoom = 1 << 20 // what a frame may have beside parameters and code
)

// spawn starts the process and has somebody wait for its end.
func (c *Code) spawn(isolated bool) (*process, error) {
	if len(c.deps.Program.Args) == 0 {
		return nil, errNoWorker
	}
	c.closing.Do(spawn.KeepFiles)
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	child, err := c.nursery.Start(spawn.Order{Path: c.deps.Program.Path, Args: c.deps.Program.Args, Isolated: isolated}, childIn, childOut)
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close(), out.Close(), childOut.Close())
	}
	p := &process{child: child, in: in, out: out, reader: bufio.NewReader(out), gone: make(chan struct{})}
	c.own(p)
	return p, errors.Join(childIn.Close(), childOut.Close())
}

// own has somebody wait for the end of a process, and gives up what belongs to it. Whoever stops everything waits for that, or, when
// it has begun to wait before, this does.
func (c *Code) own(p *process) {
	wait := func() {
		p.child.Wait()
		p.end()
		_ = p.out.Close()
		close(p.gone)
	}
	c.mu.Lock()
	c.started++
	p.number = c.started
	stopped := c.stopped
	if !stopped {
		c.running.Go(wait)
	}
	c.mu.Unlock()
	if stopped {
		p.kill()
		wait()
	}
}

// errNoWorker says that nothing can serve as a worker.
var errNoWorker = errors.New("this process has no program for workers")

// Why a process was killed while it worked.
var (
	errDeadline = errors.New("it took too long")
	errGone     = errors.New("the process has ended")
)

// guard does something with a process that may hang, and kills the process when the time is up or nobody waits any more. What
// takes long takes turns with the others of the share, when there is one.
func (c *Code) guard(ctx context.Context, p *process, limit time.Duration, share *turns.Share, do func() ([]byte, error)) ([]byte, error) {
	done, reason := make(chan struct{}), make(chan error, 1)
	go func() { reason <- c.watch(ctx, p, limit, share, done) }()
	body, err := do()
	close(done)
	if why := <-reason; why != nil {
		return nil, why // whatever came in the last moment: the process is not there any more
	}
	return body, err
}

// watch watches a process until it is done, and tells why it was killed before that.
func (c *Code) watch(ctx context.Context, p *process, limit time.Duration, share *turns.Share, done <-chan struct{}) error {
	late, long := c.deps.Clock.NewTimer(limit), c.deps.Clock.NewTimer(wire.Patience)
	defer late.Stop()
	defer long.Stop()
	var pacing *pacer
	defer func() { pacing.end() }()
	if share.Heavy() {
		pacing = c.pace(ctx, p, share)
	}
	for {
		select {
		case <-done:
			return nil
		case <-long.C():
			if share != nil && pacing == nil {
				pacing = c.pace(ctx, p, share)
			}
			continue
		case <-late.C():
			p.kill()
			return errDeadline
		case <-ctx.Done():
			p.kill()
			return ctx.Err()
		}
	}
}
