// Package lifecycle starts what has a lifetime in order, and stops it in the reverse order. Every goroutine of the product
// belongs to something that is started and stopped here.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
)

// Part is something with a lifetime. Start and Stop may be nil.
type Part struct {
	Name string
	// Start returns when the part works; it must not block for the part's lifetime.
	Start func(ctx context.Context) error
	// Stop returns when the part is gone; it is called once, only after a successful Start.
	Stop func(ctx context.Context) error
}

// Group is an ordered set of parts.
type Group struct {
	parts   []Part
	started int
}

// Add appends parts; they start after those added before.
func (g *Group) Add(parts ...Part) { g.parts = append(g.parts, parts...) }

// Start starts the parts in order. When one fails, those already started are stopped again.
func (g *Group) Start(ctx context.Context) error {
	for _, part := range g.parts[g.started:] {
		if part.Start != nil {
			if err := part.Start(ctx); err != nil {
				return errors.Join(fmt.Errorf("start %s: %w", part.Name, err), g.Stop(context.WithoutCancel(ctx)))
			}
		}
		g.started++
	}
	return nil
}

// Stop stops the started parts, last first, and returns every error.
func (g *Group) Stop(ctx context.Context) error {
	var failures []error
	for ; g.started > 0; g.started-- {
		part := g.parts[g.started-1]
		if part.Stop == nil {
			continue
		}
		if err := part.Stop(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", part.Name, err))
		}
	}
	return errors.Join(failures...)
}

// Worker turns a function that runs until its context ends into a part. A worker that does not end is left behind when the
// time to stop is up, and reported.
func Worker(name string, run func(ctx context.Context) error) Part {
	var cancel context.CancelFunc
	ended := make(chan error, 1)
	return Part{
		Name: name,
		Start: func(ctx context.Context) error {
			var running context.Context
			running, cancel = context.WithCancel(context.WithoutCancel(ctx))
			go func() { ended <- run(running) }()
			return nil
		},
		Stop: func(ctx context.Context) error {
			cancel()
			select {
			case err := <-ended:
				if errors.Is(err, context.Canceled) {
					return nil
				}
				return err
			case <-ctx.Done():
				return fmt.Errorf("it is still running: %w", ctx.Err())
			}
		},
	}
}
