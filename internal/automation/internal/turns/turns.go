// Package turns shares the processors of one process out between workspaces. A workspace that uses little never notices: its runs
// work whenever they like. One that has used much lately works in turns of half a millisecond, the one that has used least first.
// All of these together leave processors free for the others, and pay for what the process does because of them outside of their
// turns: collecting garbage, writing events, answering requests. Who has a turn rests until that is made up for.
package turns

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/clock"
)

const (
	// halfLife is after how long half of what a workspace has used is forgotten.
	halfLife = 500 * time.Millisecond
	// heavyFrom is how much a workspace may use before it has to take turns, lightBelow how little it must have used to be free
	// again. Between the two it stays what it is, so that it does not change all the time.
	heavyFrom  = 40 * time.Millisecond
	lightBelow = 15 * time.Millisecond
	// slice is how long a turn lasts when others wait.
	slice = 500 * time.Microsecond
	// breath is how long a processor is left to others between two turns: what waits for one that is busy longer is done there.
	breath = 50 * time.Microsecond
	// quiet is how long nothing light may have begun before heavy workspaces get the last processor, too.
	quiet = 2 * time.Second
	// portion is what is counted together: less is not worth the lock.
	portion = 250 * time.Microsecond
	// crowd is how many of a workspace may work at once when nobody else wants to: who comes then waits for all of them once.
	crowd = 256
)

// Settings are what is shared out.
type Settings struct {
	// Processors is how many there are; zero stands for all that the process may use.
	Processors int
	// Spent is how much processor time the process has used in all; nil when nobody knows: then nobody rests.
	Spent func() time.Duration
	// Collect collects garbage if so many bytes more would have the process do it anyway; nil leaves that to the process. Whoever
	// works while garbage is collected leaves nothing of the processors to others, so heavy workspaces have it done before a turn.
	Collect func(bytes int64)
}

// Turns shares processors out. A nil one lets everybody work.
type Turns struct {
	clock      clock.Clock
	processors int
	reserve    int // how many of them stay free
	collect    func(bytes int64)

	shares sync.Map // *Share by id of the workspace
	known  atomic.Int64
	// outside is how many nanoseconds other processes have worked for workspaces.
	outside atomic.Int64
	light   atomic.Int64 // how often something has begun of workspaces that are light

	mu      sync.Mutex
	working int
	queue   []*Share // those that wait
	present int      // how many heavy workspaces work or wait
	// seen is the number of light beginnings that was seen last, seenAt when that was.
	seen   int64
	seenAt time.Time
	purse  purse
	tidied int64 // how many shares were left when they were last looked through
}

// New shares processors out.
func New(clk clock.Clock, settings Settings) *Turns {
	const part = 4 // of the processors stays free
	n := settings.Processors
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	t := &Turns{clock: clk, processors: n, reserve: max(1, n/part), collect: settings.Collect}
	t.purse = purse{rate: float64(n-t.reserve) - margin}
	if settings.Spent != nil {
		t.purse.spent = func() time.Duration { return settings.Spent() + time.Duration(t.outside.Load()) }
	}
	if n == 1 {
		t.purse.rate = 0.5
	}
	return t
}

// Share is what one workspace has used of the processors lately.
type Share struct {
	turns   *Turns
	pending atomic.Int64 // nanoseconds that were not counted yet
	heavy   atomic.Bool
	light   atomic.Int64 // how often it has begun since it was last heavy

	// Those below belong to the lock of the turns.
	used    float64 // nanoseconds, as of at
	at      time.Time
	waiting []chan struct{}
	present int // how many of it work or wait
}

// Of gives the share of a workspace.
func (t *Turns) Of(workspaceID string) *Share {
	if t == nil {
		return nil
	}
	if s, ok := t.shares.Load(workspaceID); ok {
		return s.(*Share) //nolint:forcetypeassert // there is nothing else
	}
	s, loaded := t.shares.LoadOrStore(workspaceID, &Share{turns: t})
	if !loaded {
		t.tidy(t.known.Add(1))
	}
	return s.(*Share) //nolint:forcetypeassert // there is nothing else
}

// tidy forgets workspaces that have used nothing for long, whenever there are twice as many as after the last time.
func (t *Turns) tidy(known int64) {
	const few = 1024
	t.mu.Lock()
	defer t.mu.Unlock()
	if known < few || known < 2*t.tidied {
		return
	}
	now := t.clock.Now()
	t.shares.Range(func(id, v any) bool {
		s := v.(*Share) //nolint:forcetypeassert // there is nothing else
		if s.count(now); s.used < float64(time.Microsecond) && s.present == 0 {
			t.shares.Delete(id)
			t.known.Add(-1)
		}
		return true
	})
	t.tidied = t.known.Load()
}

// Heavy tells whether the workspace has to take turns now.
func (s *Share) Heavy() bool { return s != nil && s.heavy.Load() }

// Used counts what was worked for the workspace.
func (s *Share) Used(d time.Duration) {
	if s == nil || d <= 0 || s.pending.Add(int64(d)) < int64(portion) {
		return
	}
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	s.count(s.turns.clock.Now())
}

// count takes what is pending into account and forgets what is long ago. The lock is held.
func (s *Share) count(now time.Time) {
	if passed := now.Sub(s.at); passed > 0 {
		s.used *= math.Exp2(-float64(passed) / float64(halfLife))
		s.at = now
	}
	s.used += float64(s.pending.Swap(0))
	switch {
	case s.used >= float64(heavyFrom):
		s.weigh()
	case s.used < float64(lightBelow):
		s.heavy.Store(false)
	}
}

// weigh makes the workspace a heavy one. What it has begun before is not work of others that could be disturbed. The lock is held.
func (s *Share) weigh() {
	if s.heavy.CompareAndSwap(false, true) {
		s.turns.seen = min(s.turns.seen, s.turns.light.Add(-s.light.Swap(0)))
	}
}

// lighten counts that something light has begun.
func (s *Share) lighten() {
	s.light.Add(1)
	s.turns.light.Add(1)
}

// take waits for a turn, and tells whether there is one to be given back: there is none for who need not take turns, or whose ctx
// has ended. Who is arriving is present until part is called.
func (t *Turns) take(ctx context.Context, s *Share, arriving bool) bool {
	t.mu.Lock()
	if arriving {
		s.arrive()
	}
	now := t.clock.Now()
	if s.count(now); !s.heavy.Load() {
		t.mu.Unlock()
		s.lighten()
		return false
	}
	places := t.places(now)
	if s.alone(now) {
		t.mu.Unlock()
		return false
	}
	if len(t.queue) == 0 && t.working < places {
		t.working++
		t.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	if s.waiting = append(s.waiting, turn); len(s.waiting) == 1 {
		t.queue = append(t.queue, s)
	}
	t.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
		t.leave(s, turn)
		return false
	}
}

// alone tells that there is nobody to take turns with: then the processors are shared out as the process does it. The lock is held.
func (s *Share) alone(now time.Time) bool {
	t := s.turns
	return t.present == 1 && s.present <= crowd && !t.disturbing(now)
}

// arrive notes that one more of a heavy workspace works or waits. The lock is held.
func (s *Share) arrive() {
	if s.present++; s.present == 1 {
		s.turns.present++
	}
}

// part is the opposite of arrive; who holds a turn gives it back.
func (s *Share) part(holds bool) {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.present--; s.present == 0 {
		t.present--
	}
	if holds {
		t.working--
		t.dispatch(t.clock.Now())
	}
}

// leave takes somebody out of the queue who does not wait any more. A turn that came meanwhile goes to the next one.
func (t *Turns) leave(s *Share, turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(s.waiting, turn)
	if at < 0 {
		t.working--
		t.dispatch(t.clock.Now())
		return
	}
	if s.waiting = slices.Delete(s.waiting, at, at+1); len(s.waiting) == 0 {
		t.queue = slices.DeleteFunc(t.queue, func(other *Share) bool { return other == s })
	}
}

// give ends a turn.
func (t *Turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working--
	t.dispatch(t.clock.Now())
}

// wanted tells whether somebody else should have the turn now.
func (t *Turns) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	places := t.places(t.clock.Now())
	return t.working > places || len(t.queue) > 0
}

// places is how many may have a turn at the same time. The lock is held.
func (t *Turns) places(now time.Time) int {
	light := t.light.Load()
	if light > t.seen {
		t.seenAt = now
	}
	t.seen = light
	if t.disturbing(now) {
		return max(1, t.processors-t.reserve)
	}
	return t.processors
}

// careful tells that heavy workspaces must think of others.
func (t *Turns) careful() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	t.places(now)
	return t.disturbing(now)
}

// disturbing tells that there are others whom heavy workspaces could disturb. The lock is held.
func (t *Turns) disturbing(now time.Time) bool { return t.seen > 0 && now.Sub(t.seenAt) < quiet }

// rest waits until heavy workspaces may work again: who has a turn keeps it meanwhile. The turn needs so many bytes at once.
func (t *Turns) rest(ctx context.Context, bytes int64) {
	if t.collect != nil && t.careful() {
		t.collect(bytes)
	}
	t.mu.Lock()
	now := t.clock.Now()
	disturbing := t.disturbing(now)
	pause := t.purse.owed(now, disturbing)
	t.mu.Unlock()
	if !disturbing {
		return
	}
	pause = max(pause, breath)
	timer := t.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// dispatch gives turns to those who wait, first to the workspace that has used least. The lock is held.
func (t *Turns) dispatch(now time.Time) {
	for places := t.places(now); t.working < places && len(t.queue) > 0; t.working++ {
		least := 0
		for i, s := range t.queue {
			if s.count(now); s.used < t.queue[least].used {
				least = i
			}
		}
		s := t.queue[least]
		close(s.waiting[0])
		if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
			t.queue = slices.Delete(t.queue, least, least+1)
		}
	}
}
