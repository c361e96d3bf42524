package limits_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/kv"
	"atelier/internal/kv/memkv"
)

func withQuota(perDay int) *world {
	return newWorld(func(c *config.Config) { c.RateLimitUser, c.QuotaPerDay = 1_000_000, perDay })
}

func TestQuota(t *testing.T) {
	t.Parallel()
	for _, perDay := range []int{1, 7, 1000} {
		w := withQuota(perDay)
		l := w.instance(t)
		ctx := from(t, somewhere)
		if got := admitted(ctx, l, user("u"), perDay+50); got != perDay {
			t.Errorf("%d calls of %d went through", got, perDay)
		}
		_, err := call(ctx, l, user("u"), http.MethodGet, "/v2/me")
		if wait := refusal(t, err, errs.QuotaExceeded); wait != 90*time.Minute {
			t.Errorf("wait %s, want until midnight", wait)
		}
		if got := admitted(ctx, l, user("other"), 1); got != 1 {
			t.Error("another caller pays for the first")
		}
		w.clock.Advance(90*time.Minute - time.Millisecond)
		if got := admitted(ctx, l, user("u"), 1); got != 0 {
			t.Error("the day ended early")
		}
		w.clock.Advance(time.Millisecond)
		if got := admitted(ctx, l, user("u"), perDay+1); got != perDay {
			t.Errorf("on the next day %d calls of %d went through", got, perDay)
		}
	}
}

// Instances share the count, but for a hundredth each; one that is started anew finds what was used.
func TestQuotaOfManyInstances(t *testing.T) {
	t.Parallel()
	const perDay, instances, share = 1000, 3, 10
	w := withQuota(perDay)
	ctx := from(t, somewhere)
	var all []*limits.Limits
	for range instances {
		all = append(all, w.instance(t))
	}
	through := 0
	for range perDay {
		for _, l := range all {
			through += admitted(ctx, l, user("u"), 1)
		}
	}
	if through < perDay || through > perDay+instances*share {
		t.Errorf("%d calls went through", through)
	}
	if got := admitted(ctx, w.instance(t), user("u"), 100); got > share {
		t.Errorf("an instance that was started anew let %d calls through", got)
	}
}

// moody is a store that can fail or hang.
type moody struct {
	kv.Store
	fails, hangs bool
	asked        int
}

func (m *moody) mood(ctx context.Context) error {
	m.asked++
	if m.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.fails {
		return errors.New("no")
	}
	return nil
}

func (m *moody) Get(ctx context.Context, key string) ([]byte, error) {
	if err := m.mood(ctx); err != nil {
		return nil, err
	}
	return m.Store.Get(ctx, key)
}

func (m *moody) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := m.mood(ctx); err != nil {
		return err
	}
	return m.Store.Set(ctx, key, value, ttl)
}

func (m *moody) Take(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error) {
	if err := m.mood(ctx); err != nil {
		return kv.Decision{}, err
	}
	return m.Store.Take(ctx, key, limit)
}

// A store that fails or hangs refuses nobody, is not asked by every call, and costs no counts once it is back.
func TestFailingStores(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]moody{"it fails": {fails: true}, "it hangs": {hangs: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withQuota(50)
			store := bad
			store.Store = w.shared
			limiter := kv.NewFallback(&moody{Store: w.shared, fails: true}, memkv.New(w.clock), slog.New(slog.DiscardHandler))
			l, err := limits.New(limits.Deps{Limiter: limiter, Store: &store, Clock: w.clock, Log: slog.New(slog.DiscardHandler), Config: w.cfg})
			if err != nil {
				t.Fatal(err)
			}
			ctx := from(t, somewhere)
			if got := admitted(ctx, l, user("u"), 30); got != 30 {
				t.Errorf("%d of 30 calls went through", got)
			}
			for range 5 {
				if err := l.LoginAllowed(ctx, "a@example.com"); err != nil {
					t.Error(err)
				}
				l.LoginSucceeded(ctx, "a@example.com")
			}
			if store.asked > 2 {
				t.Errorf("it was asked %d times", store.asked)
			}
			store.fails, store.hangs = false, false
			w.clock.Advance(time.Minute)
			if got := admitted(ctx, l, user("u"), 30); got != 20 {
				t.Errorf("%d calls went through when it was back, want the 20 that were left", got)
			}
			if got := admitted(ctx, w.instance(t), user("u"), 1); got != 0 {
				t.Error("the calls of the bad time were not told to others")
			}
		})
	}
}

// A limiter without anything to fall back on lets calls through.
func TestFailingLimiter(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l, err := limits.New(limits.Deps{
		Limiter: &moody{Store: w.shared, fails: true}, Store: w.shared, Clock: w.clock, Log: slog.New(slog.DiscardHandler), Config: w.cfg,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := from(t, somewhere)
	if got := admitted(ctx, l, user("u"), 100); got != 100 {
		t.Errorf("%d of 100 calls went through", got)
	}
	for range 100 {
		l.Failed(ctx, limits.Token, "x")
	}
	if err := l.Blocked(ctx, limits.Token, "x"); err != nil {
		t.Error(err)
	}
}
