// Package crash_test breaks the real program on purpose and looks for lost writes: killed under load, on a full disk, on a
// disk that fails to sync.
package crash_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// readyWithin is how soon after kill -9 the server must be ready again, counted from the start of its process.
const readyWithin = 2 * time.Second

// writers is how many clients write at the same time.
const writers = 16

// TestKilledUnderLoad kills the server CRASH_ROUNDS times while clients create workspaces and emit events. Each time it
// must come back quickly with everything it acknowledged, in order, once, and with nothing that nobody sent. CRASH_SEED
// repeats the moments of a run.
func TestKilledUnderLoad(t *testing.T) {
	rounds, seed := number(t, "CRASH_ROUNDS", 5), number(t, "CRASH_SEED", int(rand.Int32()))
	t.Logf("seed %d, %d rounds", seed, rounds)
	moments := rand.New(rand.NewPCG(uint64(seed), 0))
	h := newHouse(t)
	h.start(t)
	h.signIn(t)
	ledger := &ledger{}
	var restarts []time.Duration
	for round := range rounds {
		load := startLoad(t, h, ledger, round)
		wait(time.Duration(20+moments.IntN(380)) * time.Millisecond)
		h.kill()
		load.Wait()
		took := h.start(t)
		restarts = append(restarts, took)
		if took > readyWithin {
			t.Errorf("round %d: ready after %v, want %v", round, took, readyWithin)
		}
		repeatUnknown(t, h, ledger)
		verify(t, h, ledger, round)
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
	verify(t, h, ledger, everyRound)
	slices.Sort(restarts)
	t.Logf("%d kills: %s; 0 lost; ready again after %v at most, %v in the middle", rounds, ledger.figures(), restarts[len(restarts)-1].Round(time.Millisecond),
		restarts[len(restarts)/2].Round(time.Millisecond))
}

func number(t *testing.T, variable string, preset int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return preset
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// wait lets the load run for a while: the moment of the kill is the test.
func wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
}
