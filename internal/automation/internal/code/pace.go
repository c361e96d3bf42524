package code

import (
	"context"
	"sync"
	"time"

	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
)

// turn is how long a process works in one.
const turn = time.Millisecond

// pacer has a process take turns with everything else that heavy workspaces do. It is stopped while it waits for one: a process
// that the system gives what others leave would still keep all processors busy, and whoever needs one for a moment waits for it.
type pacer struct {
	clock   clock.Clock
	process *process
	outside *turns.Outside

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// pace begins when a call has taken long.
func (c *Code) pace(ctx context.Context, p *process, share *turns.Share) *pacer {
	ctx, cancel := context.WithCancel(ctx)
	pace := &pacer{clock: c.deps.Clock, process: p, outside: share.Outside(), cancel: cancel}
	pace.ended.Go(func() { pace.run(ctx) })
	return pace
}

// end ends it; the process goes on.
func (p *pacer) end() {
	if p != nil {
		p.cancel()
		p.ended.Wait()
	}
}

func (p *pacer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if p.outside.Free() {
			p.work(ctx)
			continue
		}
		p.process.halt()
		p.outside.Take(ctx)
		p.process.resume()
		p.work(ctx)
		p.outside.Give()
	}
}

// work lets the process work for a turn.
func (p *pacer) work(ctx context.Context) {
	before := p.process.spent(p.clock.Now())
	timer := p.clock.NewTimer(turn)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
	p.outside.Worked(max(p.process.spent(p.clock.Now())-before, 0))
}
