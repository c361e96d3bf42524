package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

func name(err error) string {
	if failure, ok := errors.AsType[*machine.Failure](err); ok {
		return failure.Name
	}
	return fmt.Sprint(err)
}

// told is a technical event as readers see it.
type told struct {
	Payload struct {
		Slug      string            `json:"slug"`
		Trigger   catalogue.Trigger `json:"trigger"`
		Payload   json.RawMessage   `json:"payload"`
		Output    json.RawMessage   `json:"output"`
		StartedAt string            `json:"startedAt"`
		Duration  int64             `json:"duration"`
		Throttled int64             `json:"throttled"`
		Break     bool              `json:"break"`
		Error     json.RawMessage   `json:"error"`
		Message   string            `json:"message"`
		Details   json.RawMessage   `json:"details"`
	} `json:"payload"`
	Source struct {
		UserID              string `json:"userId"`
		SessionID           string `json:"sessionId"`
		CorrelationID       string `json:"correlationId"`
		WorkspaceID         string `json:"workspaceId"`
		IP                  string `json:"ip"`
		SocketID            string `json:"socketId"`
		AutomationSlug      string `json:"automationSlug"`
		AutomationDepth     int    `json:"automationDepth"`
		AppSlug             string `json:"appSlug"`
		AppInstanceFullSlug string `json:"appInstanceFullSlug"`
		AppInstanceDepth    int    `json:"appInstanceDepth"`
	} `json:"source"`
}

func read(t *testing.T, records []bus.Record) []told {
	t.Helper()
	all := make([]told, len(records))
	for i, record := range records {
		if err := json.Unmarshal(record.Body, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestCalls(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	app := bench.AddInstance(bench.Home, "app", "The app")
	app.Config = machinetest.Object(t, `{"k":"of the app"}`)
	bench.Home.Config = machinetest.Object(t, `{"k":"of the workspace"}`)
	inner := bench.AddInstance(app, "inner", "Inner")
	bench.AddTo(inner, "deep", `do: []`)
	bench.AddTo(app, "open", `{do: [{hidden: {output: h}}], output: {h: "{{h}}", config: "{{config.k}}"}}`)
	bench.AddTo(app, "hidden", `{private: true, do: [], output: seen}`)
	bench.Add("gone", `{disabled: true, do: []}`)
	bench.Add("own", `{private: true, do: [{set: {name: a, value: changed}}, {set: {name: b.c, value: changed}}], output: ["{{a}}", "{{b}}", "{{mine}}", "{{output}}"]}`)
	bench.Add("nothing", `do: [{set: {name: x, value: 1}}]`)
	bench.Add("zero", `{do: [], output: 0}`)
	bench.Add("empty", `{do: [], output: ""}`)
	bench.Add("false", `{do: [], output: "{{f}}"}`)
	bench.Add("broken", `{do: text}`)
	for _, c := range []struct{ do, want string }{
		{`{own: {a: 1, b: "{{obj}}", output: r}}`, `{"r":["changed",{"x":1,"c":"changed"},null,"r"],"obj":{"x":1},"a":"mine"}`},
		{`{nothing: {output: r}}`, `{"r":{},"obj":{"x":1},"a":"mine"}`},
		{`{zero: {output: r}}`, `{"r":{},"obj":{"x":1},"a":"mine"}`},
		{`{empty: {output: r}}`, `{"r":{},"obj":{"x":1},"a":"mine"}`},
		{`{"false": {f: false, output: r}}`, `{"r":false,"obj":{"x":1},"a":"mine"}`},
		{`{"false": {output: obj}}`, `{"obj":{"x":1},"a":"mine"}`},
		{`{"false": "{{obj}}"}`, `{"obj":{"x":1},"a":"mine"}`},
		{`{app.open: {output: r}}`, `{"r":{"h":"seen","config":"of the app"},"obj":{"x":1},"a":"mine"}`},
		{`{runWorkflow: {workflow: "own", parameters: {a: 1}, output: r}}`, `{"r":["changed",{"c":"changed"},null,null],"obj":{"x":1},"a":"mine"}`},
		{`{runWorkflow: {workflow: "{{a}}"}}`, `ObjectNotFoundError`},
		{`{runWorkflow: {workflow: 5}}`, `InvalidInstructionError`},
		{`{runWorkflow: {workflow: own, parameters: 5}}`, `InvalidInstructionError`},
		{`{app.hidden: {}}`, `ObjectNotFoundError`},
		{`{app.inner.deep: {}}`, `ObjectNotFoundError`},
		{`{nowhere.open: {}}`, `ObjectNotFoundError`},
		{`{gone: {}}`, `ObjectNotFoundError`},
		{`{unknown: {}}`, `ObjectNotFoundError`},
		{`{own: text}`, `InvalidInstructionError`},
		{`{own: }`, `InvalidInstructionError`},
		{`{broken: {}}`, `InvalidInstructionError`},
	} {
		bench.Add("main", `{do: [`+c.do+`], output: {r: "{{r}}", obj: "{{obj}}", a: "{{a}}"}}`)
		result := bench.Execute("main", machinetest.Object(t, `{"obj":{"x":1},"a":"mine","mine":1}`))
		got := machinetest.JSON(result.Output)
		if result.Err != nil {
			got = name(result.Err)
		}
		if got != c.want {
			t.Errorf("%s: %s instead of %s (%v)", c.do, got, c.want, result.Err)
		}
	}
	if result := bench.Execute("gone", nil); name(result.Err) != machine.ObjectNotFound {
		t.Error(result.Err)
	}
	if n := len(bench.Recorder.Of("error")); n != 11 {
		t.Errorf("%d errors were told of", n)
	}
}

// 21 automations may call each other with a limit of 20, in one run or in several that events led to.
func TestDepth(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Add("main", `
do:
  - set: {name: n, value: "{% {{n}} - 1 %}"}
  - conditions: {'{{n}} > 0': [{main: {n: "{{n}}", output: r}}], default: [{set: {name: r, value: bottom}}]}
output: "{{r}}"`)
	for _, c := range []struct {
		before, calls int
		want          string
	}{{0, 21, ""}, {0, 22, machine.TooManyCalls}, {20, 1, ""}, {20, 2, machine.TooManyCalls}, {21, 1, machine.TooManyCalls}} {
		run := bench.Fresh()
		run.Depth = c.before
		result := bench.Machine.Execute(t.Context(), run, bench.Home.Automations["main"], machine.Payload("n", float64(c.calls)))
		if c.want == "" && (result.Err != nil || result.Output != "bottom") || c.want != "" && name(result.Err) != c.want {
			t.Errorf("%d after %d: %v, %v", c.calls, c.before, result.Output, result.Err)
		}
		if failure, ok := errors.AsType[*machine.Failure](result.Err); ok && machinetest.JSON(failure.Details) != `{"limit":20}` {
			t.Error(machinetest.JSON(failure.Details))
		}
	}
}

func TestExecutedEvents(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	now := clock.NewManual(time.Date(2027, 3, 4, 5, 6, 7, 89_123_456, time.UTC))
	bench.Machine.Clock = now
	bench.Machine.Throttle = holding{}
	bench.Run.Trigger = catalogue.Trigger{Type: "event", Value: "order", ID: "1-2"}
	bench.Run.SocketID, bench.Run.IP, bench.Run.Depth = "socket", "8.8.8.8", 2
	app := bench.AddInstance(bench.Home, "app", "The app")
	bench.AddTo(app, "sub", `{do: [{break: {}}], output: "{{x}}"}`)
	bench.Add("main", `{do: [{app.sub: {x: [1], output: r}}, {tick: {}}], output: {r: "{{r}}", secret: "my {{secret.key}}!"}}`)
	bench.Home.Secrets, bench.Home.Hidden = machinetest.Object(t, `{"key":"s3cret-value"}`), []string{"s3cret-value"}
	bench.Home.Automations["tick"] = &machine.Automation{Slug: "tick", Home: bench.Home, Native: func(*machine.Frame, *value.Object) (any, error) {
		now.Advance(1500 * time.Millisecond)
		return value.Undefined{}, nil
	}}
	payload := machinetest.Object(t, `{"a":"with s3cret-value","headers":{"authorization":"Bearer x","accept":"y"},"$http":"stream"}`)
	result := bench.Execute("main", payload)
	if result.Err != nil || !strings.Contains(machinetest.JSON(result.Output), "my s3cret-value!") {
		t.Fatal(result.Err, machinetest.JSON(result.Output))
	}
	events := read(t, bench.Recorder.Of("runtime.automations.executed"))
	if len(events) != 3 {
		t.Fatal(events)
	}
	sub, main := events[0], events[2]
	if sub.Payload.Slug != "sub" || !sub.Payload.Break || string(sub.Payload.Output) != `[1]` || sub.Payload.Trigger != (catalogue.Trigger{Type: "automation", Value: "main"}) ||
		sub.Source.AutomationSlug != "sub" || sub.Source.AutomationDepth != 4 || sub.Source.AppSlug != "The app" || sub.Source.AppInstanceFullSlug != "app" || sub.Source.AppInstanceDepth != 1 {
		t.Errorf("%+v", sub)
	}
	if main.Payload.Slug != "main" || main.Payload.Break || main.Payload.Trigger != bench.Run.Trigger || main.Payload.Duration != 1500 || main.Payload.StartedAt != "2027-03-04T05:06:07.089Z" ||
		string(main.Payload.Payload) != `{"a":"with REDACTED","headers":{"accept":"y"}}` || string(main.Payload.Output) != `{"r":[1],"secret":"my REDACTED!"}` || main.Payload.Throttled != 250 || main.Payload.Error != nil {
		t.Errorf("%+v %s", main.Payload, main.Payload.Payload)
	}
	if s := main.Source; s.UserID != "user-1" || s.SessionID != "session-1" || s.CorrelationID != "correlation-1" || s.IP != "8.8.8.8" || s.SocketID != "socket" || s.AutomationDepth != 3 || s.AppInstanceDepth != 0 || s.WorkspaceID != "wks1234" {
		t.Errorf("%+v", s)
	}
}

// holding holds everything back for a quarter of a second.
type holding struct{}

func (holding) Limits(*machine.Home, string) bool { return true }

func (holding) Wait(context.Context, *machine.Home, string, int) (time.Duration, error) {
	return 250 * time.Millisecond, nil
}

// Of automations that call each other only the one that failed has the error; the run has one error event, from there.
func TestFailuresAreToldOnce(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Add("low", `{do: [{set: {name: a.b, value: 1}}]}`)
	bench.Add("middle", `{do: [{low: {a: "the key is k3y-of-the-house"}}]}`)
	bench.Add("main", `{do: [{middle: {}}]}`)
	bench.Home.Hidden = []string{"k3y-of-the-house"}
	result := bench.Execute("main", nil)
	if name(result.Err) != machine.InvalidInstruction || result.Output != any(value.Undefined{}) {
		t.Fatal(result)
	}
	var failed []string
	for _, e := range read(t, bench.Recorder.Of("runtime.automations.executed")) {
		if e.Payload.Error != nil {
			failed = append(failed, e.Payload.Slug+string(e.Payload.Error))
		}
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0], `low{"error":"InvalidInstructionError"`) {
		t.Error(failed)
	}
	told := read(t, bench.Recorder.Of("error"))
	if len(told) != 1 || told[0].Source.AutomationSlug != "low" || string(told[0].Payload.Error) != `"InvalidInstructionError"` ||
		string(told[0].Payload.Details) != `{"payload":{"a":"the key is REDACTED"},"value":1,"variable":"a.b"}` {
		t.Errorf("%+v %s", told, told[0].Payload.Details)
	}
	// One that was caught is told by the automation, but the run has not failed.
	bench = machinetest.New(t)
	bench.Add("low", `{do: [{set: {name: a.b, value: 1}}]}`)
	bench.Add("main", `{do: [{try: {do: [{low: {a: 1}}]}}]}`)
	if result := bench.Execute("main", nil); result.Err != nil || len(bench.Recorder.Of("error")) != 0 {
		t.Error(result.Err)
	}
	if events := read(t, bench.Recorder.Of("runtime.automations.executed")); len(events) != 2 || events[0].Payload.Error == nil || events[1].Payload.Error != nil {
		t.Errorf("%+v", events)
	}
}

func TestWhatWentWrongInsideIsNotShown(t *testing.T) {
	t.Parallel()
	for what, native := range map[string]func(*machine.Frame, *value.Object) (any, error){
		"an error": func(*machine.Frame, *value.Object) (any, error) {
			return nil, errors.New("connect to 10.0.0.1: secret refused")
		},
		"a panic": func(*machine.Frame, *value.Object) (any, error) {
			return strings.Split("secret", ",")[1], nil
		},
		"a panic in a branch": func(f *machine.Frame, _ *value.Object) (any, error) {
			return nil, f.First(f.Beside(2, func(_ *machine.Frame, i int) error { return []error{}[i] }))
		},
	} {
		bench := machinetest.New(t)
		bench.Home.Automations["native"] = &machine.Automation{Slug: "native", Home: bench.Home, Native: native}
		bench.Add("main", `{do: [{try: {do: [{native: {}}]}}], output: "{{$error}}"}`)
		result := bench.Execute("main", nil)
		text := machinetest.JSON(result.Output)
		if result.Err != nil || !strings.Contains(text, `"name":"SvcError"`) || strings.Contains(text, "secret") || strings.Contains(text, "10.0.0.1") || strings.Contains(text, "panic") {
			t.Errorf("%s: %s, %v", what, text, result.Err)
		}
	}
}

func TestEventsAreOfWhoActsNow(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t, machine.Instructions{"become": machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
		scopes, _ := f.Run().Scopes.(*machinetest.Scopes)
		scopes.Become(access.Principal{Kind: access.User, UserID: "other", SessionID: "other-session"})
		f.Report(machine.Fail("Told", "now"))
		return access.From(f.Context()).UserID, nil
	})})
	bench.Add("main", `{do: [{become: {output: who}}], output: "{{who}}"}`)
	if result := bench.Execute("main", nil); result.Output != "other" {
		t.Error(result)
	}
	if events := read(t, bench.Recorder.Of("error")); len(events) != 1 || events[0].Source.UserID != "other" || events[0].Source.SessionID != "other-session" {
		t.Errorf("%+v", events)
	}
}

// What runs beside the run ends with it; the answer need not wait for it.
func TestWhatRunsBesideTheRunEndsWithIt(t *testing.T) {
	t.Parallel()
	answered, released := make(chan machine.Result, 1), make(chan struct{})
	bench := machinetest.New(t)
	bench.Home.Automations["slow"] = &machine.Automation{Slug: "slow", Home: bench.Home, Native: func(f *machine.Frame, payload *value.Object) (any, error) {
		select {
		case <-released:
			return nil, f.Run().Scopes.Change(f, machine.Change{Kind: machine.Replace, Root: "run", Apply: func(any) (any, error) { return payload, nil }})
		case <-f.Context().Done():
			return nil, f.Context().Err()
		}
	}}
	bench.Add("main", `{do: [{runWorkflow: {workflow: slow, parameters: {x: 1}, wait: false, output: r}}, {runWorkflow: {workflow: slow2, wait: false}}], output: {r: "{{r}}"}}`)
	bench.Home.Automations["slow2"] = bench.Add("slow2", `{do: [{nothing: {}}]}`)
	bench.Run.Answer = func(r machine.Result) { answered <- r; close(released) }
	bench.Execute("main", nil)
	if result := <-answered; result.Err != nil || machinetest.JSON(result.Output) != `{}` {
		t.Error(result)
	}
	if v, _ := bench.Scopes.Get(nil, "run"); machinetest.JSON(v) != `{"x":1}` {
		t.Error("the run ended before what it had started")
	}
	if events := bench.Recorder.Of("error"); len(events) != 1 {
		t.Errorf("%d errors", len(events))
	}
}
