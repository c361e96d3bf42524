// Package throttle holds workspaces back that do too much of something: their automations wait for a moment, and never fail for
// it. How much is too much, the installation says, or a super admin for one workspace.
package throttle

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/kv"
)

// Rate is how much a workspace may do.
type Rate struct {
	// PerSecond is how much may be done in the long run; zero does not limit.
	PerSecond float64
	// Burst is how much may be done at once; zero means as much as in a second.
	Burst int
}

// Settings are the rates of workspaces for which nothing else is said.
type Settings struct {
	// Disabled turns all of it off, also for the workspaces that have rates of their own.
	Disabled bool
	// Rates are by what is throttled: automations, emits, fetchs and repeats.
	Rates map[string]Rate
}

// Deps is what a throttle needs.
type Deps struct {
	Log   *slog.Logger
	Clock clock.Clock
	// Limiter counts: in this process, or for the whole cluster when its store is shared.
	Limiter  kv.Limiter
	Settings Settings
}

// Throttle holds workspaces back.
type Throttle struct {
	deps  Deps
	gates gates
}

// New returns a throttle. Nothing runs in it by itself.
func New(deps Deps) *Throttle { return &Throttle{deps: deps, gates: gates{open: map[string]*gate{}}} }

// Limits tells whether a workspace may have to wait.
func (t *Throttle) Limits(home *machine.Home, kind string) bool {
	_, limited := t.rate(root(home), kind)
	return limited
}

// Wait takes n units, and waits until they are free. It tells how long that was.
func (t *Throttle) Wait(ctx context.Context, home *machine.Home, kind string, n int) (time.Duration, error) {
	rate, ok := t.rate(root(home), kind)
	if !ok || n <= 0 {
		return 0, nil
	}
	key := "throttle:" + kind + ":" + home.WorkspaceID
	begun := t.deps.Clock.Now()
	// Who waits, waits in line: one asks for the next unit, not all of them at the same moment.
	leave, err := t.gates.enter(ctx, key)
	if err != nil {
		return t.since(begun), err
	}
	defer leave()
	err = t.take(ctx, key, rate.limit(n))
	return t.since(begun), err
}

func (t *Throttle) since(begun time.Time) time.Duration { return max(t.deps.Clock.Now().Sub(begun), 0) }

// take asks until it is given.
func (t *Throttle) take(ctx context.Context, key string, limit kv.Limit) error {
	for {
		decision, err := t.deps.Limiter.Take(ctx, key, limit)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil: // a throttle makes nothing fail
			t.deps.Log.WarnContext(ctx, "a throttle could not be asked; the automation goes on", "error", err)
			return nil
		case decision.Allowed:
			return nil
		}
		timer := t.deps.Clock.NewTimer(decision.RetryAfter)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// limit is the rate as the limiter knows it, in portions of n. The limiter keeps one time for a key, whatever the portions are:
// a portion of n takes it as far as n single ones.
func (r Rate) limit(n int) kv.Limit {
	burst := r.Burst
	if burst <= 0 {
		burst = int(math.Ceil(r.PerSecond))
	}
	return kv.Limit{Count: 1, Period: max(time.Duration(float64(n)*float64(time.Second)/r.PerSecond), 1), Burst: max(burst/n, 1)}
}

// rate is how much a workspace may do; false when there is no limit.
func (t *Throttle) rate(home *machine.Home, kind string) (Rate, bool) {
	if t.deps.Settings.Disabled {
		return Rate{}, false
	}
	rate := t.deps.Settings.Rates[kind]
	if len(home.System) == 0 { // as of nearly all
		return rate, rate.PerSecond > 0
	}
	if off, err := strconv.ParseBool(home.System["svc_ratelimit_disabled"]); err == nil && off {
		return Rate{}, false
	}
	if own, ok := number(home.System["svc_ratelimit_"+kind]); ok {
		rate.PerSecond = own
	}
	if own, ok := number(home.System["svc_ratelimit_"+kind+"_burst"]); ok && own >= 1 {
		rate.Burst = int(min(own, most))
	}
	return rate, rate.PerSecond > 0
}

// The least and the most that a rate can be: less would hold an automation back for longer than anybody waits.
const (
	least = 0.001
	most  = 1_000_000
)

// number reads a rate of a workspace. One that is none is left out, as if it had not been given.
func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n == 0 {
		return 0, true
	}
	return min(max(n, least), most), true
}

// root is the workspace that an app instance is in: it is the one that super admins give rates to.
func root(home *machine.Home) *machine.Home {
	for home.Parent != nil {
		home = home.Parent
	}
	return home
}

var _ machine.Throttle = (*Throttle)(nil)
