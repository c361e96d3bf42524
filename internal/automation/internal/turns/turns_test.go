package turns_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
)

// floor is a process with some processors, on which workspaces work.
type floor struct {
	*turns.Turns

	t     *testing.T
	clock *clock.Manual
	all   sync.WaitGroup
}

// still is a clock on which whoever waits goes on at once.
type still struct{ *clock.Manual }

func (s still) NewTimer(time.Duration) clock.Timer { return s.Manual.NewTimer(0) }

func open(t *testing.T, processors int) *floor {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &floor{Turns: turns.New(still{clk}, turns.Settings{Processors: processors}), t: t, clock: clk}
}

// heavy makes a workspace one that has used so much.
func (f *floor) heavy(workspace string, used time.Duration) *turns.Share {
	f.t.Helper()
	share := f.Of(workspace)
	if share.Used(used); !share.Heavy() {
		f.t.Fatalf("%s is not heavy after %s", workspace, used)
	}
	return share
}

// until waits for something that another goroutine does.
func (f *floor) until(what string, holds func() bool) {
	f.t.Helper()
	for !holds() {
		if f.t.Context().Err() != nil {
			f.t.Fatalf("never: %s", what)
		}
		runtime.Gosched()
	}
}

// queue has a workspace begin in another goroutine, which has to wait, and tells the channel when it has its turn.
func (f *floor) queue(share *turns.Share, name string, began chan<- string, end <-chan struct{}) {
	f.t.Helper()
	before := f.Waiting()
	f.all.Go(func() {
		stint := share.Begin(f.t.Context())
		began <- name
		<-end
		stint.End()
	})
	f.until(name+" waits", func() bool { return f.Waiting() == before+1 })
}

// A workspace that uses little works at once, however many others wait.
func TestLightNeverWaits(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	f.Of("light").Begin(t.Context()).End()
	bomb := f.heavy("bomb", time.Second)
	first := bomb.Begin(t.Context())
	began, end := make(chan string, 1), make(chan struct{})
	f.queue(bomb, "second", began, end)
	for range 100 {
		stint := f.Of("light").Begin(t.Context()) // nobody would ever wake it
		stint.Step(t.Context(), turns.Often)
		stint.Pause()
		stint.Resume(t.Context())
		if stint.Holds() {
			t.Error("a light workspace takes a turn")
		}
		stint.End()
	}
	if first.End(); <-began != "second" {
		t.Error("the turn went to somebody else")
	}
	close(end)
	f.all.Wait()
	if f.Working() != 0 {
		t.Errorf("%d turns are not given back", f.Working())
	}
}

// While something light happens, heavy workspaces leave it a processor; a while later they get that one, too.
func TestOneProcessorStaysFree(t *testing.T) {
	t.Parallel()
	for processors, beside := range map[int]int{1: 1, 2: 1, 4: 3} {
		f := open(t, processors)
		f.Of("light").Begin(t.Context()).End()
		bomb := f.heavy("bomb", time.Minute)
		var held []*turns.Stint
		for range beside {
			held = append(held, bomb.Begin(t.Context()))
		}
		began, end := make(chan string, 1), make(chan struct{})
		f.queue(bomb, "more", began, end)
		if f.Working() != beside {
			t.Errorf("%d of %d processors work for heavy workspaces", f.Working(), processors)
		}
		f.clock.Advance(3 * time.Second)
		held[0].Pause() // whoever gives a turn back sees that all is quiet
		<-began
		if held[0].Resume(t.Context()); held[0].Holds() {
			t.Error("who is alone takes turns")
		}
		close(end)
		for _, stint := range held {
			stint.End()
		}
		f.all.Wait()
	}
}

// Heavy runs that are alone do not take turns until something light begins.
func TestLightTakesItsProcessorBack(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	bomb := f.heavy("bomb", time.Minute)
	first, second := bomb.Begin(t.Context()), bomb.Begin(t.Context())
	if first.Holds() || second.Holds() {
		t.Fatal("who is alone takes turns")
	}
	f.Of("light").Begin(t.Context()).End()
	f.clock.Advance(2 * time.Millisecond)
	first.Step(t.Context(), turns.Often)
	f.all.Go(func() { second.Step(t.Context(), turns.Often) })
	f.until("the second one waits", func() bool { return f.Waiting() == 1 && f.Working() == 1 })
	first.End()
	f.all.Wait()
	if second.End(); f.Working() != 0 {
		t.Errorf("%d turns are not given back", f.Working())
	}
}

// The next turn is that of the workspace which has used least, and of the one who came first in it.
func TestLeastUsedFirst(t *testing.T) {
	t.Parallel()
	f := open(t, 1)
	f.Of("light").Begin(t.Context()).End()
	much, little := f.heavy("much", time.Second), f.heavy("little", 100*time.Millisecond)
	working := much.Begin(t.Context())
	began, end := make(chan string), make(chan struct{})
	close(end)
	f.queue(much, "much 1", began, end)
	f.queue(much, "much 2", began, end)
	f.queue(little, "little 1", began, end)
	f.queue(little, "little 2", began, end)
	working.End()
	var order []string
	for range 4 {
		order = append(order, <-began)
	}
	f.all.Wait()
	if want := []string{"little 1", "little 2", "much 1", "much 2"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// Two workspaces that want all they can get have the same of it, however many runs each of them has.
func TestSharesAreEqual(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	f.Of("light").Begin(t.Context()).End()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	slices, total := map[string]int{}, 0
	first := f.heavy("first", time.Minute).Begin(t.Context()) // nobody begins before all are there
	for workspace, runs := range map[string]int{"one": 1, "many": 9} {
		share := f.heavy(workspace, time.Minute)
		for range runs {
			f.all.Go(func() {
				stint := share.Begin(ctx)
				defer stint.End()
				for ctx.Err() == nil {
					mu.Lock() // only who has the turn moves the clock: a millisecond of work
					f.clock.Advance(time.Millisecond)
					slices[workspace]++
					if total++; total == 2000 {
						cancel()
					}
					mu.Unlock()
					stint.Step(ctx, turns.Often)
				}
			})
		}
	}
	f.until("all of them wait", func() bool { return f.Waiting() == 10 })
	first.End()
	f.all.Wait()
	if few := min(slices["one"], slices["many"]); few < 900 {
		t.Errorf("they have worked %v", slices)
	}
}

// Who waits for something outside gives the turn to others meanwhile, and is not counted for it.
func TestPause(t *testing.T) {
	t.Parallel()
	f := open(t, 1)
	f.Of("light").Begin(t.Context()).End()
	bomb := f.heavy("bomb", time.Second)
	stint := bomb.Begin(t.Context())
	began, end := make(chan string, 1), make(chan struct{})
	f.queue(bomb, "second", began, end)
	stint.Pause()
	<-began
	close(end)
	f.all.Wait()
	f.clock.Advance(time.Minute)
	stint.Resume(t.Context())
	if stint.Holds() || bomb.Heavy() {
		t.Error("a minute of waiting was counted as work")
	}
	stint.End()
	f.clock.Advance(time.Minute)
	stint.End()
	if bomb.Heavy() || f.Working() != 0 {
		t.Errorf("what comes after the end counts, or %d turns are not given back", f.Working())
	}
}

// What a run works makes its workspace heavy, and gives it a turn to take, as soon as it has done enough steps to be looked at.
func TestBecomingHeavy(t *testing.T) {
	t.Parallel()
	f := open(t, 1)
	f.Of("light").Begin(t.Context()).End()
	share := f.Of("a")
	stint := share.Begin(t.Context())
	f.clock.Advance(time.Second)
	if stint.Step(t.Context(), turns.Often-1); share.Heavy() {
		t.Error("the clock is asked after few steps")
	}
	if stint.Step(t.Context(), 1); !share.Heavy() || !stint.Holds() {
		t.Error("a second of work was not counted")
	}
	stint.End()
}

// Who does not wait any more leaves the queue, and takes no turn from the others.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	f := open(t, 1)
	f.Of("light").Begin(t.Context()).End()
	bomb := f.heavy("bomb", time.Second)
	stint := bomb.Begin(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	for range 50 {
		f.all.Go(func() { bomb.Begin(ctx).End() })
	}
	f.until("all of them wait", func() bool { return f.Waiting() == 50 })
	f.all.Go(cancel)
	stint.End() // at the same moment
	f.all.Wait()
	if f.Waiting() != 0 || f.Working() != 0 {
		t.Errorf("%d wait, %d work", f.Waiting(), f.Working())
	}
}

// What was used long ago is forgotten, and so are workspaces that do nothing.
func TestForgetting(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	bomb := f.heavy("bomb", time.Second)
	f.clock.Advance(time.Second)
	if bomb.Begin(t.Context()).End(); !bomb.Heavy() {
		t.Error("a second of work was forgotten in a second")
	}
	f.clock.Advance(10 * time.Second)
	if bomb.Begin(t.Context()).End(); bomb.Heavy() {
		t.Error("a second of work was not forgotten in ten")
	}
	for i := range 5000 {
		f.Of(fmt.Sprint(i)).Used(time.Second)
		f.clock.Advance(time.Second)
	}
	if f.Known() > 2500 {
		t.Errorf("%d workspaces are remembered", f.Known())
	}
}

// Without turns everybody works.
func TestNone(t *testing.T) {
	t.Parallel()
	var none *turns.Turns
	stint := none.Of("a").Begin(t.Context())
	stint.Step(t.Context(), turns.Often)
	stint.Pause()
	stint.Resume(t.Context())
	stint.Beside(t.Context()).End()
	if none.Of("a").Used(time.Hour); none.Of("a").Heavy() || stint.Holds() {
		t.Error("there are turns to take")
	}
	stint.End()
}

// What a light run costs.
func BenchmarkLight(b *testing.B) {
	t := turns.New(clock.System{}, turns.Settings{Spent: turns.Spent})
	for b.Loop() {
		t.Of("light").Begin(b.Context()).End()
	}
}

func BenchmarkCollect(b *testing.B) {
	for b.Loop() {
		turns.Collect(0)
	}
}
