// Package ledger_test keeps books outside of the server: of every event that is sent, answered, read from a live feed and received as
// a webhook, while the server is killed again and again. In the end the books must agree.
package ledger_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// writers is how many clients emit at the same time.
	writers = 64
	// rooms is how many workspaces they emit to.
	rooms = 8
)

// TestLedger lets 64 writers emit LEDGER_EVENTS events while the server is killed LEDGER_KILLS times at random moments. Every event
// that was acknowledged is stored exactly once, those of a workspace in the order in which they were acknowledged; readers of the
// live feeds that come back get what is stored, without a gap or a repetition; and every event with a subscription arrives as a
// webhook that the library of the specification accepts. LEDGER_SEED repeats the moments of a run.
func TestLedger(t *testing.T) {
	t.Parallel()
	events, kills, seed := number(t, "LEDGER_EVENTS", 20_000), number(t, "LEDGER_KILLS", 5), number(t, "LEDGER_SEED", int(rand.Int32()))
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(uint64(seed), 0))
	endpoint := startEndpoint(t)
	h := newHouse(t)
	h.start()
	h.signIn()
	b := &books{rooms: h.openRooms(endpoint, rooms)}
	endpoint.trust(b.rooms)

	readers := startReaders(h, b.rooms)
	began := time.Now()
	load := startWriters(h, b, events)
	for kill := range kills {
		at := events * (2*kill + 1 + moments.IntN(2)) / (2 * kills)
		for b.acknowledged.Load() < int64(min(at, events-1)) && !t.Failed() {
			h.pause(time.Millisecond)
		}
		h.kill()
		h.start()
	}
	load.Wait()
	took := time.Since(began)
	b.read(t, h)
	b.check(t)
	readers.check(t, b)
	deliveries := endpoint.check(t, b)
	t.Logf("%d events acknowledged in %v over %d kills, %d requests sent again by their key, %d left without an answer; %d stored; "+
		"%d feeds resumed %d times; %d webhooks for %d events", b.acknowledged.Load(), took.Round(time.Second), kills, b.repeated.Load(), b.unanswered.Load(),
		b.stored, rooms, readers.resumed.Load(), deliveries, b.hooked)
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
