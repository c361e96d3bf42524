package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"atelier/internal/ident"
)

// instance is one running copy of a consumer. Its loop owns the fields; workers tell it through exited that they ended.
type instance struct {
	runner Runner
	spec   Spec
	feed   OpenFeed
	leases leases

	registered bool
	renewedAt  time.Time
	tenure     tenure
	held       map[int]holding
	workers    map[int]*worker
	exited     chan int
	running    sync.WaitGroup
	failing    bool
}

// A lease is renewed three times in its length and looked at ten times, so that a free partition is found soon. Workers
// stop a tenth before it ends.
const (
	renewalsPerLease = 3
	looksPerLease    = 10
	takeShare        = 5 // taking partitions lasts at most a fifth of a lease
	takesAtOnce      = 4
)

func newInstance(r Runner, spec Spec, feed OpenFeed) *instance {
	owner := ident.Source{}.UUID()
	const partitions = 64 // more than there are workers, so that an ending worker never waits
	return &instance{
		runner: r, spec: spec, feed: feed,
		leases:  newLeases(r.DB, spec.Name, owner, r.Lease),
		held:    make(map[int]holding),
		workers: make(map[int]*worker),
		exited:  make(chan int, partitions),
	}
}

func (i *instance) run(ctx context.Context) {
	g := startGuard(ctx, i.runner.Clock)
	i.tenure = newTenure(ctx)
	for ctx.Err() == nil {
		i.report(ctx, i.step(ctx, g))
		i.rest(ctx)
	}
	i.tenure.cancel(context.Cause(ctx))
	i.running.Wait()
	<-g.done
	i.leave(ctx)
}

// step looks at the table and does what is due.
func (i *instance) step(ctx context.Context, g *guard) error {
	i.reap()
	if !i.registered {
		if err := i.leases.register(ctx, i.spec.FromStart); err != nil {
			return fmt.Errorf("register: %w", err)
		}
		i.registered = true
	}
	v, err := i.leases.look(ctx)
	if err != nil {
		return fmt.Errorf("read the leases: %w", err)
	}
	p := decide(v, i.leases.owner, i.held)
	for _, partition := range p.lost {
		i.workers[partition].cancel(errLost)
	}
	for _, partition := range p.drain {
		i.drain(partition)
	}
	due := i.runner.Clock.Now().Sub(i.renewedAt) >= i.runner.Lease/renewalsPerLease
	if due || len(p.take) > 0 {
		if err := i.renew(ctx, g, p.renew); err != nil {
			return fmt.Errorf("renew the leases: %w", err)
		}
	}
	i.take(ctx, p.take)
	if v.gone > 0 {
		i.sweep(ctx)
	}
	return i.settle(ctx)
}

// settle stores how far the workers are past events that needed nothing: all of them at once, and not after each batch.
func (i *instance) settle(ctx context.Context) error {
	var debts []debt
	for _, w := range i.workers {
		if to, owing := w.owes(); owing {
			debts = append(debts, debt{held: w.granted, to: to})
		}
	}
	if len(debts) == 0 {
		return nil
	}
	if err := i.leases.settle(ctx, debts); err != nil {
		for _, d := range debts {
			i.workers[d.held.partition].owe(d.to)
		}
		return fmt.Errorf("note how far the consumer is: %w", err)
	}
	return nil
}

// renew makes the leases last from now. They count from before the statement was sent, so they never end later here
// than in the database, however long the answer took.
func (i *instance) renew(ctx context.Context, g *guard, partitions []int) error {
	start := i.runner.Clock.Now()
	renewed, err := i.leases.keep(ctx, partitions)
	if err != nil {
		return err
	}
	i.renewedAt = start
	if i.tenure.ctx.Err() != nil {
		i.tenure = newTenure(ctx)
	}
	g.extend(ctx, i.tenure, start.Add(i.runner.Lease-i.runner.Lease/looksPerLease))
	for _, partition := range partitions {
		if !slices.Contains(renewed, partition) {
			i.workers[partition].cancel(errLost)
		}
	}
	return nil
}

// take tries to get partitions, a few at a time. A row may be locked by a holder that was frozen in the middle of a
// commit: waiting for it must cost neither the other partitions nor the next renewal.
func (i *instance) take(ctx context.Context, rows []leaseRow) {
	limited, cancel := context.WithTimeout(ctx, i.runner.Lease/takeShare)
	defer cancel()
	granted := make(chan grant, len(rows))
	slots := make(chan struct{}, takesAtOnce)
	var tries sync.WaitGroup
	for _, row := range rows {
		slots <- struct{}{}
		tries.Go(func() {
			defer func() { <-slots }()
			g, err := i.leases.take(limited, row)
			switch {
			case err == nil:
				granted <- g
			case !errors.Is(err, errLost):
				i.runner.Log.DebugContext(ctx, "a partition could not be taken", "consumer", i.spec.Name, "partition", row.partition, "error", err)
			}
		})
	}
	tries.Wait()
	close(granted)
	for g := range granted {
		i.start(g) //nolint:contextcheck // the worker's context is its tenure
	}
}

// sweep forgets the other instances that are gone. It does not matter when, so it does not wait long.
func (i *instance) sweep(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, i.runner.Lease/takeShare)
	defer cancel()
	if err := i.leases.sweep(limited); err != nil {
		i.runner.Log.DebugContext(ctx, "instances that are gone could not be forgotten", "consumer", i.spec.Name, "error", err)
	}
}

func (i *instance) start(granted grant) {
	w := newWorker(i, granted)
	i.held[granted.partition] = holding{epoch: granted.epoch}
	i.workers[granted.partition] = w
	i.running.Go(func() {
		w.run()
		i.exited <- granted.partition
	})
}

func (i *instance) drain(partition int) {
	h := i.held[partition]
	h.draining = true
	i.held[partition] = h
	i.workers[partition].drain()
}

// reap forgets the workers that have ended.
func (i *instance) reap() {
	for {
		select {
		case partition := <-i.exited:
			i.forget(partition)
		default:
			return
		}
	}
}

func (i *instance) forget(partition int) {
	delete(i.held, partition)
	delete(i.workers, partition)
}

// rest waits until the next look is due.
func (i *instance) rest(ctx context.Context) {
	timer := i.runner.Clock.NewTimer(i.runner.Lease / looksPerLease)
	defer timer.Stop()
	select {
	case <-timer.C():
	case partition := <-i.exited:
		i.forget(partition)
	case <-ctx.Done():
	}
}

// report logs a failure once until it has passed.
func (i *instance) report(ctx context.Context, err error) {
	switch {
	case err != nil && ctx.Err() == nil && !i.failing:
		i.failing = true
		i.runner.Log.WarnContext(ctx, "a consumer cannot reach its leases; it tries again", "consumer", i.spec.Name, "error", err)
	case err == nil && i.failing:
		i.failing = false
		i.runner.Log.InfoContext(ctx, "a consumer reaches its leases again", "consumer", i.spec.Name)
	}
}

// leave tells the other instances that this one is gone. When that fails they find out when its lease ends.
func (i *instance) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.runner.Lease)
	defer cancel()
	if err := i.leases.leave(ctx); err != nil {
		i.runner.Log.WarnContext(ctx, "a consumer could not sign off; its lease ends by itself", "consumer", i.spec.Name, "error", err)
	}
}
