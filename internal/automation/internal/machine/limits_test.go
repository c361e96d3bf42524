package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

// Whatever an automation does to use up the machine, one run fails and nothing else.
func TestBombs(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ do, want string }{
		"a text that doubles":                {`[{set: {name: x, value: aaaaaaaa}}, {repeat: {until: 100, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}]`, machine.QuotaExceeded},
		"a text that doubles in expressions": {`[{set: {name: x, value: aaaaaaaa}}, {repeat: {until: 100, do: [{set: {name: x, value: "{% {{x}} + {{x}} %}"}}]}}]`, machine.QuotaExceeded},
		"a list that doubles":                {`[{set: {name: x, value: [1]}}, {repeat: {until: 100, do: [{set: {name: x, value: ["{{x}}", "{{x}}"]}}]}}]`, machine.QuotaExceeded},
		"an object that doubles":             {`[{set: {name: x, value: {a: 1}}}, {repeat: {until: 100, do: [{set: {name: x, value: {a: "{{x}}", b: "{{x}}"}}}]}}]`, machine.QuotaExceeded},
		"a list that is merged with itself":  {`[{set: {name: x, value: [1]}}, {repeat: {until: 100, do: [{set: {name: x, value: "{{x}}", type: merge}}]}}]`, machine.QuotaExceeded},
		"a list that is pushed to itself":    {`[{set: {name: x, value: [1]}}, {repeat: {until: 100, do: [{set: {name: "x[]", value: "{{x}}"}}, {set: {name: "x[]", value: "{{x}}"}}]}}]`, machine.QuotaExceeded},
		"many large texts":                   {`[{set: {name: x, value: aaaaaaaaaaaaaaaa}}, {repeat: {until: 14, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}, {repeat: {until: 1000, do: [{set: {name: "l[]", value: "{{item}}{{x}}"}}]}}]`, machine.QuotaExceeded},
		"large texts that nobody keeps":      {`[{set: {name: x, value: aaaaaaaaaaaaaaaa}}, {repeat: {until: 16, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}, {nothing: {l: [` + strings.Repeat(`"{{x}}{{x}}",`, 100) + `]}}]`, machine.QuotaExceeded},
		"a deep value":                       {`[{repeat: {until: 5000, do: [{set: {name: x, value: {x: "{{x}}"}}}]}}]`, machine.QuotaExceeded},
		"a payload that doubles":             {`[{main: {x: ["{{x}}", "{{x}}", "{{x}}", "{{x}}", "{{x}}"]}}]`, machine.QuotaExceeded},
		"an endless loop":                    {`[{repeat: {until: 1e12, do: []}}]`, machine.QuotaExceeded},
		"an endless loop that catches":       {`[{repeat: {until: 1e12, do: [{try: {do: [{nothing: {}}], finally: [{set: {name: x, value: 1}}]}}]}}]`, machine.QuotaExceeded},
		"endless loops beside each other":    {`[{repeat: {until: 1e12, batch: {size: 1000}, do: [{repeat: {until: 1e12, batch: {size: 1000}, do: []}}]}}]`, machine.QuotaExceeded},
		"bombs that are caught":              {`[{set: {name: x, value: aaaaaaaa}}, {repeat: {until: 1e12, do: [{try: {do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}]}}]`, machine.QuotaExceeded},
		"calls of itself":                    {`[{main: {}}]`, machine.TooManyCalls},
		"calls beside the run":               {`[{repeat: {until: 100000, do: [{runWorkflow: {workflow: main, wait: false}}]}}]`, machine.QuotaExceeded},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bench := machinetest.New(t)
			bench.Machine.Limits = machine.Limits{Depth: 20, Memory: 8 << 20, Steps: 50_000}
			bench.Add("main", `do: `+c.do)
			result := bench.Execute("main", nil)
			if name(result.Err) != c.want {
				t.Errorf("%v", result.Err)
			}
			if n := len(bench.Recorder.Of("error")); n == 0 {
				t.Error("nobody was told")
			}
		})
	}
}

// What variables took is free again when they are gone.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Machine.Limits.Memory = 1 << 20
	bench.Add("sub", `{do: [{repeat: {until: 100, do: [{set: {name: "l[]", value: "{{x}}{{item}}"}}]}}]}`)
	bench.Add("main", `
do:
  - set: {name: x, value: aaaaaaaaaaaaaaaa}
  - repeat: {until: 6, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}
  - repeat:
      until: 100
      do:
        - sub: {x: "{{x}}"}
        - set: {name: one, value: "{{x}}{{item}}"}
        - set: {name: "o.k{{item}}", value: "{{x}}{{x}}{{x}}{{x}}"}
        - delete: {name: "o.k{{item}}"}
        - set: {name: "l[]", value: "{{x}}"}
        - delete: {name: "l[0]"}
        - set: {name: m, value: {a: "{{x}}{{item}}"}, type: merge}
        - all: [{set: {name: item, value: "{{x}}{{x}}"}}, {set: {name: "p.q", value: "{{x}}"}}]
  - repeat: {until: 200, batch: {size: 20}, do: [{set: {name: item, value: "{{x}}"}}]}`)
	if result := bench.Execute("main", nil); result.Err != nil {
		t.Error(result.Err)
	}
}

func TestLargeVariablesAreReported(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Machine.Limits.Local = 10_000
	bench.Add("main", `do: [{repeat: {until: 1000, do: [{set: {name: "l[]", value: "some text {{item}}"}}]}}]`)
	if result := bench.Execute("main", nil); result.Err != nil {
		t.Error(result.Err)
	}
	if events := bench.Recorder.Of("error"); len(events) != 1 || !strings.Contains(string(events[0].Body), `"local"`) {
		t.Errorf("%v", events)
	}
}

func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Machine.Limits.Steps = 0
	automation := bench.Add("main", `do: [{try: {do: [{repeat: {until: 1e12, do: []}}], catch: [{set: {name: run.caught, value: 1}}], finally: [{set: {name: run.caught, value: 1}}]}}]`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	result := bench.Machine.Execute(ctx, bench.Run, automation, nil)
	if name(result.Err) != machine.Timeout || len(bench.Scopes.Changes) != 0 {
		t.Error(result.Err, bench.Scopes.Changes)
	}
	if events := read(t, bench.Recorder.Of("runtime.automations.executed")); len(events) != 1 || !strings.Contains(string(events[0].Payload.Error), machine.Timeout) {
		t.Errorf("%+v", events)
	}
}

// A run that is stopped to be begun anew tells nothing: it is not over.
func TestStoppedRuns(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		bench := machinetest.New(t)
		bench.Journal.Survives = durable
		ctx, cancel := context.WithCancel(t.Context())
		bench.Instructions["stop"] = machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
			cancel()
			return nil, f.Sleep(time.Hour)
		})
		automation := bench.Add("main", `do: [{all: [{stop: {}}, {stop: {}}]}]`)
		result := bench.Machine.Execute(ctx, bench.Run, automation, nil)
		if !errors.Is(result.Err, context.Canceled) || name(result.Err) != machine.Broke {
			t.Error(result.Err)
		}
		want := 1
		if durable {
			want = 0
		}
		if got := len(bench.Recorder.Of("runtime.automations.executed")); got != want {
			t.Errorf("durable %v: %d", durable, got)
		}
	}
}
