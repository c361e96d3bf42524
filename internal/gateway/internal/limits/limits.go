// Package limits is everything the gateway limits: calls by caller and class of route, calls at the same time, calls per
// day, and wrong credentials. Limits are keyed by the caller when there is one and by its network when there is none; private
// addresses are no exception, because behind a proxy that would be everybody.
//
// A store that fails never refuses a call: rates fall back to the memory of the process, quotas and lockouts to what the
// process knows.
package limits

import (
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"

	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/kv"
)

// Deps is what the limits need.
type Deps struct {
	// Limiter keeps the rates; give it something to fall back on (kv.Fallback) when it is elsewhere.
	Limiter kv.Limiter
	// Store keeps what must be known to every instance: daily quotas, lockouts, networks of good sign-ins.
	Store  kv.Store
	Clock  clock.Clock
	Log    *slog.Logger
	Config config.Config
}

// Limits admits calls and counts wrong credentials. It is safe for concurrent use and has no goroutine.
type Limits struct {
	deps    Deps
	classes []class
	running running
	streams running
	quotas  *quotas
	blocks  *otter.Cache[string, time.Time]
	friends *otter.Cache[string, time.Time]
	store   *patient
}

// remembered bounds how many blocked or befriended names a process keeps; the least used go first.
const remembered = 100_000

// New returns limits that have counted nothing yet.
func New(deps Deps) (*Limits, error) {
	blocks, err := otter.New(&otter.Options[string, time.Time]{MaximumSize: remembered})
	if err != nil {
		return nil, err
	}
	friends, err := otter.New(&otter.Options[string, time.Time]{MaximumSize: remembered})
	if err != nil {
		return nil, err
	}
	store := &patient{store: deps.Store, clock: deps.Clock, log: deps.Log}
	day, err := newQuotas(store, deps.Clock, deps.Config.QuotaPerDay)
	if err != nil {
		return nil, err
	}
	return &Limits{
		deps: deps, classes: classes(deps.Config), running: running{seed: maphash.MakeSeed()}, streams: running{seed: maphash.MakeSeed()}, quotas: day, blocks: blocks, friends: friends, store: store,
	}, nil
}

// take asks for one unit of a per-minute limit. A limiter that fails lets the call through.
func (l *Limits) take(ctx context.Context, key string, limit kv.Limit) kv.Decision {
	decision, err := l.deps.Limiter.Take(ctx, key, limit)
	if err != nil {
		if ctx.Err() == nil {
			l.deps.Log.WarnContext(ctx, "a rate limit could not be counted; the call goes on", "error", err.Error())
		}
		return kv.Decision{Allowed: true, Limit: limit.Count, Remaining: limit.Count}
	}
	return decision
}

// spend takes one unit and gives the refusal when there is none.
func (l *Limits) spend(ctx context.Context, key string, limit kv.Limit) error {
	if l.deps.Config.DisableRateLimit {
		return nil
	}
	if decision := l.take(ctx, key, limit); !decision.Allowed {
		return tooOften(decision.RetryAfter)
	}
	return nil
}

func perMinute(count int) kv.Limit { return kv.Limit{Count: count, Period: time.Minute} }

func tooOften(wait time.Duration) *errs.Error {
	return errs.New(errs.RateLimitExceeded, "Too many attempts; wait as long as Retry-After says and try again.").WithRetryAfter(wholeSeconds(wait))
}

// wholeSeconds rounds a wait up to whole seconds, at least one, so that the header and the details of an answer agree.
func wholeSeconds(wait time.Duration) time.Duration {
	return max(time.Second, (wait+time.Second-1)/time.Second*time.Second)
}
