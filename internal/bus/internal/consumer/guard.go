package consumer

import (
	"context"
	"time"

	"atelier/internal/clock"
)

// tenure is the time for which the partitions are known to be ours: it is extended by every renewal, and its context
// ends when one does not come in time.
type tenure struct {
	ctx    context.Context //nolint:containedctx // what the tenure is: workers derive their contexts from it
	cancel context.CancelCauseFunc
}

func newTenure(ctx context.Context) tenure {
	ctx, cancel := context.WithCancelCause(ctx)
	return tenure{ctx: ctx, cancel: cancel}
}

// guard ends a tenure at its deadline even while the database does not answer.
type guard struct {
	clock   clock.Clock
	extends chan extension
	done    chan struct{}
}

type extension struct {
	tenure tenure
	until  time.Time
}

func startGuard(ctx context.Context, clk clock.Clock) *guard {
	g := &guard{clock: clk, extends: make(chan extension), done: make(chan struct{})}
	go g.loop(ctx)
	return g
}

// extend says until when the tenure lasts.
func (g *guard) extend(ctx context.Context, t tenure, until time.Time) {
	select {
	case g.extends <- extension{tenure: t, until: until}:
	case <-ctx.Done():
	}
}

func (g *guard) loop(ctx context.Context) {
	defer close(g.done)
	var current extension
	var timer clock.Timer
	var expired <-chan time.Time
	for {
		select {
		case current = <-g.extends:
			if timer != nil {
				timer.Stop()
			}
			timer = g.clock.NewTimer(current.until.Sub(g.clock.Now()))
			expired = timer.C()
		case <-expired:
			current.tenure.cancel(errLost)
		case <-ctx.Done():
			if timer != nil {
				timer.Stop()
			}
			return
		}
	}
}
