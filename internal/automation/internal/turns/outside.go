package turns

import (
	"context"
	"time"
)

// Outside is what another process works for a workspace. Only one goroutine uses it.
type Outside struct {
	share *Share
	stint *Stint
}

// Outside begins to count what another process works.
func (s *Share) Outside() *Outside { return &Outside{share: s} }

// Free tells that the workspace need not take turns now.
func (o *Outside) Free() bool {
	s := o.share
	if s == nil || !s.heavy.Load() {
		return true
	}
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	t.places(now)
	return t.present <= 1 && !t.disturbing(now)
}

// Take waits for a turn, which ends with Give.
func (o *Outside) Take(ctx context.Context) {
	if o.stint == nil {
		o.stint = o.share.Begin(ctx)
		return
	}
	o.stint.Resume(ctx)
}

// Give ends a turn.
func (o *Outside) Give() {
	if o.stint != nil {
		o.stint.Pause()
	}
}

// dear is how much more is paid for what another process works than for what this one does: a processor that the system has given to
// it comes back later than one that is given back in between.
const dear = 8

// Worked counts what was worked.
func (o *Outside) Worked(d time.Duration) {
	if o.share == nil {
		return
	}
	o.share.turns.outside.Add(dear * int64(d))
	if o.stint == nil || o.stint.idle {
		o.share.Used(d) // during a turn it is counted by that
	}
}
