package kvtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"atelier/internal/kv"
)

func (s suite) calls(t *testing.T) {
	t.Run("a store says who it is and answers", func(t *testing.T) {
		f := s.store(t)
		if f.Driver() == "" {
			t.Fatal("the driver has no name")
		}
		f.must(f.Ping(f.t.Context()))
	})
	t.Run("closing twice does no harm", func(t *testing.T) {
		f := s.store(t)
		f.must(f.Close())
		f.must(f.Close())
	})
	t.Run("a call ends with its context", s.cancelled)
}

// each is every call of the contract, with what the test chooses.
func each(ctx context.Context, store kv.Store, key string, ttl time.Duration) map[string]error {
	value, limit := []byte("new"), kv.Limit{Count: 1, Period: time.Hour}
	calls := make(map[string]error)
	_, calls["get"] = store.Get(ctx, key)
	calls["set"] = store.Set(ctx, key, value, ttl)
	_, calls["add"] = store.Add(ctx, key, value, ttl)
	_, calls["swap"] = store.Swap(ctx, key, []byte("old"), value, ttl)
	calls["delete"] = store.Delete(ctx, key)
	_, calls["take"] = store.Take(ctx, key, limit)
	return calls
}

func (s suite) cancelled(t *testing.T) {
	f := s.store(t)
	f.set("key", "old", long)
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	calls := each(ctx, f.Store, "key", long)
	calls["ping"] = f.Ping(ctx)
	for call, err := range calls {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after cancellation: %v", call, err)
		}
	}
	f.holds("key", "old")
	f.yes(f.take("key", kv.Limit{Count: 1, Period: long}).Allowed, "the unit a cancelled call did not take")
	expired, cancel := context.WithTimeout(f.t.Context(), time.Nanosecond)
	defer cancel()
	<-expired.Done()
	if _, err := f.Get(expired, "key"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get after the deadline: %v", err)
	}
}

func (s suite) badKeys(t *testing.T, keys ...string) {
	t.Helper()
	f := s.store(t)
	for _, key := range keys {
		for call, err := range each(f.t.Context(), f.Store, key, long) {
			if !errors.Is(err, kv.ErrKey) {
				t.Errorf("%s of a key of %d bytes: %v", call, len(key), err)
			}
		}
	}
}

func (s suite) noLifetime(t *testing.T, ttl time.Duration) {
	t.Helper()
	f := s.store(t)
	f.set("key", "old", long)
	calls := each(f.t.Context(), f.Store, "other", ttl)
	_, calls["swap"] = f.Swap(f.t.Context(), "key", []byte("old"), []byte("new"), ttl)
	for _, call := range []string{"set", "add", "swap"} {
		if err := calls[call]; !errors.Is(err, kv.ErrLifetime) {
			t.Errorf("%s: %v", call, err)
		}
	}
	f.holds("key", "old")
	f.lacks("other")
}
