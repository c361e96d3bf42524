package code_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/codetest"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
)

const sleepy = "await new Promise(r => setTimeout(r, 400)); return 1"

// until waits for something that happens soon.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for range 1000 {
		if true() {
			return
		}
		<-clock.System{}.NewTimer(10 * time.Millisecond).C()
	}
	t.Fatalf("it never happens: %s", what)
}

// Calls of one workspace run beside each other, and the number of processes stays within its bound whatever is asked.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 4, Spares: 1, Time: time.Minute})
	var calls sync.WaitGroup
	var most atomic.Int64
	for i := range 60 {
		calls.Go(func() {
			workspace := fmt.Sprintf("w%d", i%5)
			got, err := inline(t, c, workspace, fmt.Sprintf("return '%s %d'", workspace, i))
			if err != nil || got != fmt.Sprintf("%s %d", workspace, i) {
				t.Errorf("%v %v", got, err)
			}
			alive, _, _, _ := c.Alive()
			most.Store(max(most.Load(), int64(alive)))
		})
	}
	calls.Wait()
	if most.Load() > 4 {
		t.Errorf("there were %d processes", most.Load())
	}
}

// A workspace that wants everything does not keep others from their turn.
func TestFairness(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 2, Spares: 1})
	var calls sync.WaitGroup
	var greedy atomic.Int64
	for range 12 {
		calls.Go(func() {
			if _, err := inline(t, c, "greedy", sleepy); err != nil {
				t.Error(err)
			}
			greedy.Add(1)
		})
	}
	until(t, "the greedy one waits", func() bool { _, _, waiting, _ := c.Alive(); return waiting >= 10 })
	for i := range 3 {
		if _, err := inline(t, c, fmt.Sprintf("modest%d", i), "return 1"); err != nil {
			t.Error(err)
		}
	}
	if done := greedy.Load(); done > 6 {
		t.Errorf("%d calls of the greedy workspace came first", done)
	}
	calls.Wait()
}

// The process of a workspace is not taken for another one as long as there is room.
func TestCachesAreKept(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 6, Spares: 1})
	count := func(workspace string) any {
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: workspace, Functions: functions("f()", "return cache.n = (cache.n ?? 0) + 1"), Function: "f"})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Result
	}
	for round := range 3 {
		for w := range 4 {
			if got := count(fmt.Sprintf("w%d", w)); got != float64(round+1) {
				t.Fatalf("round %d of w%d: %v", round, w, got)
			}
		}
	}
	// With more workspaces than processes the one that was idle for the longest time goes.
	for w := range 9 {
		count(fmt.Sprintf("more%d", w))
	}
	if alive, _, _, _ := c.Alive(); alive > 6 {
		t.Errorf("there are %d processes", alive)
	}
	if got := count("w0"); got != 1.0 {
		t.Errorf("the cache of w0 is still there: %v", got)
	}
}

// What nobody uses ends, and with it all that was known of the workspace.
func TestIdleProcessesEnd(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Idle: 100 * time.Millisecond, Spares: 1})
	for i := range 3 {
		if _, err := inline(t, c, fmt.Sprint(i), "return 1"); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "only spares are left", func() bool {
		alive, spares, _, tenants := c.Alive()
		return alive == spares && tenants == 0
	})
}

// Who does not wait any more gets nothing, and what ran for it is ended.
func TestCancel(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 2, Spares: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			_, err := c.Run(ctx, code.Call{WorkspaceID: "a", Code: "for(;;);"})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
	until(t, "two wait", func() bool { _, _, waiting, _ := c.Alive(); return waiting == 2 })
	cancel()
	calls.Wait()
	if got, err := inline(t, c, "a", "return 1"); err != nil || got != 1.0 {
		t.Errorf("%v %v", got, err)
	}
}

// Waiting for a process has an end too.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 1, Spares: 1, Time: time.Second})
	var calls sync.WaitGroup
	var refused atomic.Int64
	for range 6 {
		calls.Go(func() {
			_, err := inline(t, c, "a", "await new Promise(r => setTimeout(r, 700))")
			if err != nil && failureOf(t, err).Name == machine.TooManyCalls {
				refused.Add(1)
			}
		})
	}
	calls.Wait()
	if refused.Load() == 0 {
		t.Error("all of them had their turn")
	}
}

// Stopping ends what runs and what waits, and leaves no process.
func TestStop(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{Processes: 2, Spares: 1})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if _, err := inline(t, c, "a", "for(;;);"); failureOf(t, err).Name != code.Failed {
				t.Errorf("%v", err)
			}
		})
	}
	until(t, "three wait", func() bool { _, _, waiting, _ := c.Alive(); return waiting == 3 })
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if _, err := inline(t, c, "a", "return 1"); failureOf(t, err).Name != code.Failed {
		t.Errorf("%v", err)
	}
}

// Parameters and functions that are too large are refused before they are sent; those that just fit work.
func TestRequestLimit(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	c := room(t, code.Limits{Request: 2 << 20})
	send := func(length int) (any, error) {
		text := make([]byte, length)
		for i := range text {
			text[i] = 'x'
		}
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Code: "return s.length", Parameters: machine.Payload("s", string(text))})
		return answer.Result, err
	}
	if got, err := send(2<<20 - 100); err != nil || got != float64(2<<20-100) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := send(2 << 20); failureOf(t, err).Name != machine.InvalidArguments {
		t.Errorf("%v", err)
	}
	large := functions("f()", "return 1", "g()", "//"+string(make([]byte, 3<<20)))
	if _, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: large, Function: "f"}); failureOf(t, err).Name != machine.Configuration {
		t.Errorf("%v", err)
	}
}

func BenchmarkWarmCall(b *testing.B) {
	c := room(b, code.Limits{})
	defined := functions("add(a, b)", "return {sum: a + b}")
	call := code.Call{WorkspaceID: "a", Functions: defined, Function: "add", Parameters: machine.Payload("a", 1.0, "b", 2.0)}
	if _, err := c.Run(b.Context(), call); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInlineCall(b *testing.B) {
	c := room(b, code.Limits{})
	for b.Loop() {
		if _, err := inline(b, c, "a", "return 1"); err != nil {
			b.Fatal(err)
		}
	}
}

// Every call is that of another workspace: what a process costs that nobody used before.
func BenchmarkColdCall(b *testing.B) {
	c := room(b, code.Limits{})
	for i := 0; b.Loop(); i++ {
		if _, err := inline(b, c, fmt.Sprint(i), "return 1"); err != nil {
			b.Fatal(err)
		}
	}
}
