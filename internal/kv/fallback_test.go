package kv_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/kv/memkv"
)

// shared is a store that can be broken.
type shared struct {
	kv.Limiter
	down atomic.Bool
	hang atomic.Bool
}

func (s *shared) Take(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return kv.Decision{}, ctx.Err()
	}
	if s.down.Load() {
		return kv.Decision{}, errors.New("connection refused")
	}
	return s.Limiter.Take(ctx, key, limit)
}

func TestFallbackLimitsWhileTheSharedStoreFails(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.UnixMilli(1_000_000))
	var logged strings.Builder
	remote := &shared{Limiter: memkv.New(clk)}
	limiter := kv.NewFallback(remote, memkv.New(clk), slog.New(slog.NewTextHandler(&logged, nil)))
	limit := kv.Limit{Count: 2, Period: time.Minute}
	take := func() bool {
		decision, err := limiter.Take(t.Context(), "k", limit)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Allowed
	}
	takeAll := func() (allowed int) {
		for range 5 {
			if take() {
				allowed++
			}
		}
		return allowed
	}
	for _, broken := range []*atomic.Bool{&remote.down, &remote.hang} {
		broken.Store(true)
		if takeAll() != limit.Count {
			t.Error("the local limit is not the same limit")
		}
		broken.Store(false)
		take() // sees that the store is back
		clk.Advance(2 * time.Minute)
	}
	if takeAll() != limit.Count {
		t.Error("the shared store is not asked again after it came back")
	}
	if n := strings.Count(logged.String(), "does not answer"); n != 2 {
		t.Errorf("two outages were logged %d times", n)
	}
}

func TestFallbackLeavesWithItsCaller(t *testing.T) {
	t.Parallel()
	remote := &shared{}
	remote.hang.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	limiter := kv.NewFallback(remote, memkv.New(clock.System{}), slog.New(slog.DiscardHandler))
	if _, err := limiter.Take(ctx, "k", kv.Limit{Count: 1, Period: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
