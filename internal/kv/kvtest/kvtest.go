// Package kvtest is the conformance suite of kv.Store: every driver passes it.
package kvtest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/kv"
)

const (
	// long outlives every test, short ends within one: on a store with a clock of its own real time passes.
	long  = time.Hour
	short = 60 * time.Millisecond
	// ended is when a short lifetime is surely over: a store may round it up by a little.
	ended = short + 2*time.Millisecond
	// callers is how many goroutines race for one key.
	callers = 64
)

// suite is a driver under test.
type suite struct {
	open    func(t *testing.T) kv.Store
	advance func(time.Duration)
}

// Run checks every sentence of the contract. Open returns a store in which no key of another test shows; Run closes it.
// Advance makes at least the duration pass for the store: by moving its clock, or by waiting.
//
// The parts run one after the other, because they share the clock.
func Run(t *testing.T, open func(t *testing.T) kv.Store, advance func(time.Duration)) {
	t.Helper()
	s := suite{open: open, advance: advance}
	t.Run("values", s.values)
	t.Run("lifetimes", s.lifetimes)
	t.Run("races", s.races)
	t.Run("bytes", s.bytes)
	t.Run("limits", s.limits)
	t.Run("calls", s.calls)
}

// RedisURL is the server for tests; it skips, loudly, when there is none.
func RedisURL(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("TEST_REDIS_URL")
	if server == "" {
		tb.Skip("SKIPPED: redis: TEST_REDIS_URL is not set")
	}
	return server
}

// Eventually waits until the condition holds, and fails the test when it does not within ten seconds.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			tb.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// store opens the store of one test.
func (s suite) store(t *testing.T) fixture {
	t.Helper()
	store := s.open(t)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return fixture{Store: store, t: t}
}

// fixture is a store whose unexpected errors end the test.
type fixture struct {
	kv.Store
	t *testing.T
}

func (f fixture) set(key, value string, ttl time.Duration) {
	f.t.Helper()
	f.must(f.Set(f.t.Context(), key, []byte(value), ttl))
}

func (f fixture) add(key, value string, ttl time.Duration) bool {
	f.t.Helper()
	added, err := f.Add(f.t.Context(), key, []byte(value), ttl)
	f.must(err)
	return added
}

func (f fixture) swap(key, old, value string, ttl time.Duration) bool {
	f.t.Helper()
	swapped, err := f.Swap(f.t.Context(), key, []byte(old), []byte(value), ttl)
	f.must(err)
	return swapped
}

func (f fixture) take(key string, limit kv.Limit) kv.Decision {
	f.t.Helper()
	decision, err := f.Take(f.t.Context(), key, limit)
	f.must(err)
	return decision
}

func (f fixture) holds(key, want string) {
	f.t.Helper()
	got, err := f.Get(f.t.Context(), key)
	f.must(err)
	if string(got) != want {
		f.t.Fatalf("key %.40q holds %.40q, want %.40q", key, got, want)
	}
}

func (f fixture) gone(key string) bool {
	f.t.Helper()
	_, err := f.Get(f.t.Context(), key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		f.t.Fatal(err)
	}
	return err != nil
}

func (f fixture) lacks(key string) {
	f.t.Helper()
	if !f.gone(key) {
		f.t.Fatalf("key %.40q is still there", key)
	}
}

func (f fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f fixture) yes(ok bool, what string) {
	f.t.Helper()
	if !ok {
		f.t.Fatalf("refused: %s", what)
	}
}

func (f fixture) no(ok bool, what string) {
	f.t.Helper()
	if ok {
		f.t.Fatalf("accepted: %s", what)
	}
}

// race runs try in many goroutines at once and counts how often it succeeds.
func (f fixture) race(try func(caller int) (bool, error)) int {
	f.t.Helper()
	var won atomic.Int64
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		group.Go(func() {
			<-start
			ok, err := try(caller)
			if err != nil {
				f.t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	close(start)
	group.Wait()
	return int(won.Load())
}
