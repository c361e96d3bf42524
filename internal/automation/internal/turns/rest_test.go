package turns_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
)

// resting is a clock on which waiting takes no time but is added up, and a process whose work is told to it.
type resting struct {
	*clock.Manual

	rested, spent time.Duration
}

func (r *resting) NewTimer(d time.Duration) clock.Timer {
	r.rested += d
	r.Advance(d)
	return r.Manual.NewTimer(0)
}

// work lets time pass in which the process uses some processors.
func (r *resting) work(d time.Duration, processors float64) {
	r.Advance(d)
	r.spent += time.Duration(processors * float64(d))
}

func spending(processors int) (*turns.Turns, *resting) {
	r := &resting{Manual: clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	return turns.New(r, turns.Settings{Processors: processors, Spent: func() time.Duration { return r.spent }}), r
}

// Whatever the process does while heavy workspaces work is paid for by them: they rest until a processor was free for as long.
func TestHeavyWorkspacesRest(t *testing.T) {
	t.Parallel()
	for processors, working := range map[int]float64{2: 0.6, 4: 2.6, 8: 5.6, 16: 11.6} {
		all, r := spending(processors)
		all.Of("light").Begin(t.Context()).End()
		bomb := all.Of("bomb")
		bomb.Used(time.Hour)
		stint := bomb.Begin(t.Context())
		began := r.Now()
		for r.spent < 3*time.Second {
			r.work(2*time.Millisecond, float64(processors)) // the garbage of the bomb, say, keeps all of them busy
			stint.Step(t.Context(), turns.Often)
			all.Of("light").Begin(t.Context()).End()
		}
		stint.End()
		if used := float64(r.spent) / float64(r.Now().Sub(began)); used < working-0.1 || used > working+0.1 {
			t.Errorf("%.2f of %d processors were used, want %.1f", used, processors, working)
		}
	}
}

// However busy others keep the process, heavy workspaces go on.
func TestRestEnds(t *testing.T) {
	t.Parallel()
	all, r := spending(2)
	all.Of("light").Begin(t.Context()).End()
	bomb := all.Of("bomb")
	bomb.Used(time.Hour)
	stint := bomb.Begin(t.Context())
	stint.Step(t.Context(), turns.Often)
	r.work(time.Second-1, 2)
	r.rested = 0
	if stint.Step(t.Context(), turns.Often); r.rested <= 0 || r.rested > 10*time.Millisecond {
		t.Errorf("it rested for %s after a second that others have used", r.rested)
	}
	stint.End()
}

// Where nobody else works there is no reason to rest, nor is there for who uses little.
func TestNobodyRestsAlone(t *testing.T) {
	t.Parallel()
	all, r := spending(2)
	bomb := all.Of("bomb")
	bomb.Begin(t.Context()).End() // it was light once, and is not others for that
	bomb.Used(time.Hour)
	stint := bomb.Begin(t.Context())
	for range 1000 {
		r.work(2*time.Millisecond, 2)
		stint.Step(t.Context(), turns.Often)
	}
	stint.End()
	light := all.Of("light").Begin(t.Context())
	for range 10 {
		r.work(100*time.Microsecond, 2)
		light.Step(t.Context(), turns.Often)
	}
	if light.End(); r.rested != 0 {
		t.Errorf("they rested for %s", r.rested)
	}
}

// Before a turn garbage is collected, with what the turn needs at once, when there is somebody whom it would disturb later.
func TestCollecting(t *testing.T) {
	t.Parallel()
	var collected []int64
	clk := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	all := turns.New(still{clk}, turns.Settings{Processors: 2, Collect: func(bytes int64) { collected = append(collected, bytes) }})
	light, bomb := all.Of("light"), all.Of("bomb")
	bomb.Used(time.Hour)
	alone := bomb.Begin(t.Context())
	alone.Large(t.Context(), 1<<20)
	if alone.End(); len(collected) != 0 {
		t.Errorf("alone it collected for %v", collected)
	}
	one := light.Begin(t.Context())
	one.Large(t.Context(), 1<<20)
	if one.End(); len(collected) != 0 {
		t.Errorf("somebody who uses little collected for %v", collected)
	}
	stint := bomb.Begin(t.Context())
	stint.Large(t.Context(), 1<<20)
	clk.Advance(2 * time.Millisecond)
	stint.Step(t.Context(), turns.Often)
	stint.End()
	if want := []int64{0, 1 << 20, 0}; !slices.Equal(collected, want) {
		t.Errorf("it collected for %v, want %v", collected, want)
	}
}

// A collection begins when the heap is about to be collected anyway, and not before.
func TestCollect(t *testing.T) { //nolint:paralleltest // it counts the collections of the process
	cycles := func() uint32 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.NumForcedGC
	}
	runtime.GC()
	before := cycles()
	if turns.Collect(0); cycles() != before {
		t.Error("garbage is collected just after it was")
	}
	if turns.Collect(1 << 40); cycles() != before+1 {
		t.Error("no garbage is collected before much is taken")
	}
}

// What the process spends is known, and grows.
func TestSpent(t *testing.T) {
	t.Parallel()
	first := turns.Spent()
	for turns.Spent() == first { // until something was worked, which this does
	}
	if turns.Spent() < first {
		t.Error("it has become less")
	}
}
