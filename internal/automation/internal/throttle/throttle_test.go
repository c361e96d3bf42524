package throttle_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/throttle"
	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/kv/memkv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(limiter kv.Limiter, settings throttle.Settings) *throttle.Throttle {
	return throttle.New(throttle.Deps{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, Limiter: limiter, Settings: settings})
}

func settings(perSecond float64, burst int) throttle.Settings {
	return throttle.Settings{Rates: map[string]throttle.Rate{machine.ThrottleEmits: {PerSecond: perSecond, Burst: burst}}}
}

// How long a workspace is held back that does ten of something, by what is said of it.
func TestRates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings throttle.Settings
		system   map[string]string
		want     time.Duration
	}{
		"nothing is said":          {want: 0},
		"within the burst":         {settings: settings(1, 10), want: 0},
		"beyond the burst":         {settings: settings(2, 4), want: 3 * time.Second},
		"no burst is said":         {settings: settings(2, 0), want: 4 * time.Second},
		"its own rate":             {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_emits": "6"}, want: time.Second},
		"its own burst":            {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_emits_burst": "8"}, want: time.Second},
		"a rate of its own only":   {system: map[string]string{"svc_ratelimit_emits": "0.5", "svc_ratelimit_emits_burst": "9"}, want: 2 * time.Second},
		"it has none":              {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_emits": "0"}, want: 0},
		"it is not held back":      {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_disabled": "true"}, want: 0},
		"nonsense is not counted":  {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_emits": "many", "svc_ratelimit_emits_burst": "-1", "svc_ratelimit_disabled": "perhaps"}, want: 3 * time.Second},
		"something else is":        {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_fetchs": "0"}, want: 3 * time.Second},
		"off, whatever it has":     {settings: throttle.Settings{Disabled: true}, system: map[string]string{"svc_ratelimit_emits": "1"}, want: 0},
		"the workspace of the app": {settings: settings(2, 4), system: map[string]string{"svc_ratelimit_emits": "6"}, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &machine.Home{WorkspaceID: "w", System: c.system}
				if name == "the workspace of the app" {
					h = &machine.Home{WorkspaceID: "w", FullSlug: "app", Parent: h}
				}
				held := opened(memkv.New(clock.System{}), c.settings)
				var got time.Duration
				for range 10 {
					waited, err := held.Wait(t.Context(), h, machine.ThrottleEmits, 1)
					if err != nil {
						t.Fatal(err)
					}
					got += waited
				}
				if got.Round(10*time.Millisecond) != c.want {
					t.Errorf("held back for %s, want %s", got, c.want)
				}
			})
		})
	}
}

// A portion is worth as much as its single units, and workspaces do not hold each other back.
func TestPortions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := opened(memkv.New(clock.System{}), settings(100, 1000))
		wait := func(workspace string, n int) time.Duration {
			waited, err := held.Wait(t.Context(), &machine.Home{WorkspaceID: workspace}, machine.ThrottleEmits, n)
			if err != nil {
				t.Fatal(err)
			}
			return waited.Round(10 * time.Millisecond)
		}
		for i, c := range []struct {
			workspace string
			n         int
			want      time.Duration
		}{
			{"w", 500, 0},
			{"w", 500, 0},
			{"w", 500, 5 * time.Second},
			{"w", 1, 10 * time.Millisecond},
			{"v", 500, 0},
			{"w", 2000, 10 * time.Second},
			{"w", 0, 0},
		} {
			if got := wait(c.workspace, c.n); got != c.want {
				t.Errorf("%d: %d of %s took %s, want %s", i, c.n, c.workspace, got, c.want)
			}
		}
	})
}

// Many who wait get what there is, no more and no less, and who leaves is not waited for.
func TestCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := opened(memkv.New(clock.System{}), settings(10, 10))
		h := &machine.Home{WorkspaceID: "w"}
		ctx, cancel := context.WithCancel(t.Context())
		var crowd sync.WaitGroup
		begun := clock.System{}.Now()
		for i := range 60 {
			crowd.Go(func() {
				mine := t.Context()
				if i >= 50 {
					mine = ctx
				}
				_, err := held.Wait(mine, h, machine.ThrottleEmits, 1)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		crowd.Wait()
		took := (clock.System{}).Now().Sub(begun)
		if took < 3*time.Second || took > 5*time.Second {
			t.Errorf("50 to 60 units at 10 a second, of which 10 at once, took %s", took)
		}
	})
}

type failing struct{}

func (failing) Take(context.Context, string, kv.Limit) (kv.Decision, error) {
	return kv.Decision{}, errors.New("the store is gone")
}

// A store that fails lets everything through.
func TestFailingStore(t *testing.T) {
	t.Parallel()
	waited, err := opened(failing{}, settings(1, 1)).Wait(t.Context(), &machine.Home{WorkspaceID: "w"}, machine.ThrottleEmits, 100)
	if err != nil || waited > time.Second {
		t.Error(waited, err)
	}
}
