package kv

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Limiter is the part of a store that rate limits need.
type Limiter interface {
	Take(ctx context.Context, key string, limit Limit) (Decision, error)
}

// Fallback takes limits from a shared store, and from this process's own memory while the shared one fails or is slow: a
// limit never becomes an error, and never disappears. Each instance then allows the whole limit by itself.
type Fallback struct {
	shared, local Limiter
	log           *slog.Logger
	failing       atomic.Bool
}

// fallbackPatience is how long a request waits for the shared store before its own memory decides.
const fallbackPatience = 20 * time.Millisecond

// NewFallback returns the limiter. It closes neither store.
func NewFallback(shared, local Limiter, log *slog.Logger) *Fallback {
	return &Fallback{shared: shared, local: local, log: log}
}

// Take asks for one unit of the limit kept under key.
func (f *Fallback) Take(ctx context.Context, key string, limit Limit) (Decision, error) {
	bounded, cancel := context.WithTimeout(ctx, fallbackPatience)
	decision, err := f.shared.Take(bounded, key, limit)
	cancel()
	if err == nil {
		if f.failing.CompareAndSwap(true, false) {
			f.log.InfoContext(ctx, "the store of rate limits is back")
		}
		return decision, nil
	}
	if ctx.Err() != nil {
		return Decision{}, ctx.Err()
	}
	if f.failing.CompareAndSwap(false, true) {
		f.log.WarnContext(ctx, "the store of rate limits does not answer; each instance limits by itself until it does", "error", err.Error())
	}
	return f.local.Take(ctx, key, limit)
}

var _ Limiter = (*Fallback)(nil)
