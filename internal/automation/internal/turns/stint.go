package turns

import (
	"context"
	"runtime"
	"time"
)

// Stint is what one goroutine works for a workspace. Only that goroutine uses it. A nil one lets it work.
type Stint struct {
	share *Share
	since time.Time // since when it has worked without being counted
	took  time.Time // when it took its turn, or last was alone
	holds bool
	there bool // it is present for its workspace
	idle  bool // it waits for something, or has ended
	steps int  // since it last looked whether others should work
}

// Often is how many steps are done before others are thought of.
const Often = 64

// Begin begins to work, and waits for a turn when the workspace has to.
func (s *Share) Begin(ctx context.Context) *Stint {
	if s == nil {
		return nil
	}
	st := &Stint{share: s}
	if s.heavy.Load() {
		st.take(ctx)
	} else {
		s.lighten()
	}
	st.since = s.turns.clock.Now()
	return st
}

// Beside begins to work in another goroutine for the same workspace.
func (st *Stint) Beside(ctx context.Context) *Stint {
	if st == nil {
		return nil
	}
	return st.share.Begin(ctx)
}

// Step counts steps, and lets others work when there were many, or the turn is over.
func (st *Stint) Step(ctx context.Context, steps int) {
	if st == nil {
		if steps >= Often {
			runtime.Gosched()
		}
		return
	}
	if st.steps += steps; st.steps < Often {
		return
	}
	st.steps = 0
	now := st.count()
	switch {
	case !st.holds && !st.share.heavy.Load():
		runtime.Gosched()
	case st.there && now.Sub(st.took) < slice:
	case !st.holds:
		st.take(ctx)
	case st.share.turns.wanted():
		st.give()
		st.take(ctx)
	default:
		st.rest(ctx, 0)
	}
}

// Large tells that a step needs so many bytes at once; none, that it has worked for a while.
func (st *Stint) Large(ctx context.Context, bytes int64) {
	if st == nil || bytes == 0 {
		st.Step(ctx, Often)
		return
	}
	if st.count(); st.holds {
		st.rest(ctx, bytes)
	}
}

// Pause lets others work while the goroutine waits for something.
func (st *Stint) Pause() {
	if st == nil {
		return
	}
	st.count()
	st.idle = true
	if st.there {
		st.share.part(st.holds)
		st.there, st.holds = false, false
	}
}

// Resume goes on after a pause.
func (st *Stint) Resume(ctx context.Context) {
	if st == nil {
		return
	}
	if st.share.heavy.Load() && !st.holds {
		st.take(ctx)
	}
	st.since, st.idle = st.share.turns.clock.Now(), false
}

// End ends the work. It may be called again.
func (st *Stint) End() { st.Pause() }

// Holds tells whether it has a turn that others may wait for.
func (st *Stint) Holds() bool { return st != nil && st.holds }

// count counts what was worked since the last time.
func (st *Stint) count() time.Time {
	now := st.share.turns.clock.Now()
	if !st.idle {
		st.share.Used(now.Sub(st.since))
	}
	st.since = now
	return now
}

func (st *Stint) take(ctx context.Context) {
	arriving := !st.there
	st.there = true
	if st.holds = st.share.turns.take(ctx, st.share, arriving); st.holds {
		st.rest(ctx, 0)
		return
	}
	st.since = st.share.turns.clock.Now()
	st.took = st.since
}

// rest makes up for what was spent, and begins a turn that takes so many bytes at once.
func (st *Stint) rest(ctx context.Context, bytes int64) {
	st.share.turns.rest(ctx, bytes)
	// Who is woken by another one goes on at once on the same processor, before all that wait there for longer: a chain of turns
	// would keep them off. So it goes to the end of the line.
	runtime.Gosched()
	st.since = st.share.turns.clock.Now()
	st.took = st.since
}

func (st *Stint) give() {
	if st.holds {
		st.holds = false
		st.share.turns.give()
	}
}
