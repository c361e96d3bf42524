package signals_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/automation/internal/signals"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a machine over a real log.
type kit struct {
	*machinetest.Bench
	t   *testing.T
	db  *sqldb.DB
	out *signals.Signals
}

func newKit(t *testing.T) *kit {
	t.Helper()
	db := sqldbtest.SQLite(t, sqlbus.Migrations(), runs.Migrations())
	logger := slog.New(slog.DiscardHandler)
	log, err := sqlbus.Open(db, clock.System{}, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	s := signals.New(signals.Deps{Bus: log, MaxLen: 5000, Waits: waits.New(waits.Deps{DB: db, Bus: log, Clock: clock.System{}, Log: logger})})
	return &kit{Bench: machinetest.New(t, s.Instructions()), t: t, db: db, out: s}
}

// run runs an automation, and gives its output or its failure.
func (k *kit) run(text string) (any, *machine.Failure) {
	k.t.Helper()
	k.Add("main", text)
	result := k.Execute("main", machine.Payload("n", 5.0))
	failure, _ := errors.AsType[*machine.Failure](result.Err)
	if result.Err != nil && failure == nil {
		k.t.Fatal(result.Err)
	}
	return result.Output, failure
}

// stored are all events of the log that users see.
func (k *kit) stored() []envelope.Event {
	k.t.Helper()
	found, err := sqlbus.Page(k.t.Context(), k.db, "wks1234", sqlbus.PageQuery{Ascending: true})
	if err != nil {
		k.t.Fatal(err)
	}
	out := make([]envelope.Event, len(found))
	for i, e := range found {
		if out[i], err = envelope.Read(e); err != nil {
			k.t.Fatal(err)
		}
	}
	return out
}

func TestEmit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ parameters, want string }{
		"plain":        {`{event: a b.c-d_1}`, `{"payload":{}}`},
		"payload":      {`{event: a, payload: {n: '{{n}}', x: '{{nothing}}'}}`, `{"payload":{"n":5}}`},
		"null payload": {`{event: a, payload: null}`, `{"payload":{}}`},
		"target":       {`{event: a, target: {userId: u, sessionId: s, userTopic: t, currentSocket: false}}`, `{"payload":{},"target":{"userTopic":"t","userId":"u","sessionId":"s","currentSocket":false}}`},
		"empty target": {`{event: a, target: {userId: '{{nothing}}'}}`, `{"payload":{}}`},
		"options":      {`{event: a, options: {aggPayload: true, async: true}, private: true}`, `{"payload":{},"options":{"aggPayload":true,"async":true}}`},
		"declared":     {`{event: declared}`, `{"payload":{},"options":{"aggPayload":true}}`},
		"error":        {`{event: error, payload: {message: m}}`, `{"payload":{"message":"m"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.Home.EventTypes = map[string]bool{"declared": true}
			k.Run.SocketID, k.Run.IP, k.Run.Hops = "socket", "8.8.8.8", 3
			k.Scopes.Become(access.Principal{Kind: access.User, UserID: "other", SessionID: "switched"})
			if _, failure := k.run("do:\n- emit: " + c.parameters + "\n"); failure != nil {
				t.Fatal(failure)
			}
			all := k.stored()
			if len(all) != 1 {
				t.Fatalf("%d events", len(all))
			}
			want := machinetest.Object(t, c.want)
			source := machinetest.Object(t, `{"workspaceId":"wks1234","sessionId":"switched","ip":"8.8.8.8","correlationId":"correlation-1","socketId":"socket",
				"serviceTopic":"topic:runtime:emit","hops":3,"automationSlug":"main","automationDepth":1,"appInstanceDepth":0}`)
			got := machinetest.Object(t, string(mustJSON(t, all[0])))
			for key, v := range want.All() {
				if g := machinetest.JSON(got.Get(key)); g != machinetest.JSON(v) {
					t.Errorf("%s is %s, want %s", key, g, machinetest.JSON(v))
				}
			}
			if machinetest.JSON(got.Get("source")) != machinetest.JSON(source) {
				t.Errorf("source %s, want %s", machinetest.JSON(got.Get("source")), machinetest.JSON(source))
			}
			for _, key := range []string{"target", "options"} {
				if got.Has(key) != want.Has(key) {
					t.Errorf("%s: %s", key, machinetest.JSON(got))
				}
			}
		})
	}
}

// The output is the event as it was stored, and its id is what a wait looks back to.
func TestEmitOutput(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		k := newKit(t)
		if durable {
			k.Run.Journal = noted{k.Journal, k.db}
		}
		output, failure := k.run("do:\n- emit: {event: a, payload: {n: '{{n}}'}, output: sent}\noutput: '{{sent}}'\n")
		if failure != nil {
			t.Fatal(failure)
		}
		want := string(mustJSON(t, k.stored()[0]))
		if got := machinetest.JSON(output); machinetest.JSON(machinetest.Object(t, want).Get("payload")) != `{"n":5}` || !sameJSON(t, got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		if k.Run.LastEvent.Get() != k.stored()[0].ID {
			t.Errorf("the last event is %q", k.Run.LastEvent.Get())
		}
	}
}

func TestEmitFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ parameters, failure string }{
		"no name":         {`{payload: {}}`, machine.InvalidEvent},
		"empty name":      {`{event: ''}`, machine.InvalidEvent},
		"characters":      {`{event: 'a/b'}`, machine.InvalidEvent},
		"line":            {`{event: "a\n"}`, machine.InvalidEvent},
		"long name":       {`{event: '` + strings.Repeat("a", 201) + `'}`, machine.InvalidEvent},
		"reserved":        {`{event: workspaces.deleted}`, machine.InvalidEvent},
		"reserved family": {`{event: Runtime.anything}`, machine.InvalidEvent},
		"too large":       {`{event: a, payload: {text: '` + strings.Repeat("x", 6000) + `'}}`, machine.EventValidation},
		"much too large":  {`{event: a, payload: {text: '` + strings.Repeat("x", 60000) + `'}}`, machine.EventValidation},
		"target":          {`{event: a, target: {userId: {}}}`, machine.InvalidInstruction},
		"target list":     {`{event: a, target: []}`, machine.InvalidInstruction},
		"options":         {`{event: a, options: {persist: 3}}`, machine.InvalidInstruction},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			_, failure := k.run("do:\n- emit: " + c.parameters + "\n")
			if failure == nil || failure.Name != c.failure {
				t.Errorf("%v, want %s", failure, c.failure)
			}
			if all := k.stored(); len(all) != 0 {
				t.Errorf("%v", all)
			}
		})
	}
}

// A payload that is no object is reported, and the automation goes on.
func TestEmitScalar(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"text", "3", "[1]", "true"} {
		k := newKit(t)
		output, failure := k.run("do:\n- emit: {event: a, payload: " + payload + ", output: sent}\n- set: {name: after, value: 1}\noutput: {sent: '{{sent}}', after: '{{after}}'}\n")
		if failure != nil || machinetest.JSON(output) != `{"after":1}` {
			t.Errorf("%s: %s %v", payload, machinetest.JSON(output), failure)
		}
		if len(k.stored()) != 0 || len(k.Recorder.Of("error")) != 1 || !strings.Contains(string(k.Recorder.Of("error")[0].Body), machine.InvalidEvent) {
			t.Errorf("%s: stored %v, reported %v", payload, k.stored(), k.Recorder.Of("error"))
		}
	}
}

// Events of an app are prefixed by its instance, and so is what it waits for.
func TestApps(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	inner := k.AddInstance(k.AddInstance(k.Home, "outer", "App"), "inner", "Inner")
	k.AddTo(inner, "say", "do:\n- emit: {event: said, output: sent}\n- emit: {event: workspaces.x}\n- wait: {oneOf: [{event: said, filters: {id: '{{sent.id}}'}}], timeout: 0}\n")
	k.AddTo(k.Home.Instances["outer"], "say", "do:\n- inner.say: {}\n")
	if _, failure := k.run("do:\n- outer.say: {}\n"); failure != nil {
		t.Fatal(failure)
	}
	said := k.stored()[0]
	if said.Type != "outer.inner.said" || said.Source.AppSlug != "Inner" || said.Source.AppInstanceFullSlug != "outer.inner" ||
		*said.Source.AppInstanceDepth != 2 || *said.Source.AutomationDepth != 3 || said.Source.AutomationSlug != "say" {
		t.Errorf("%+v %+v", said, said.Source.Run)
	}
	if k.stored()[1].Type != "outer.inner.workspaces.x" {
		t.Errorf("%+v", k.stored()[1])
	}
	if pending := k.Recorder.Of("runtime.waits.pending"); len(pending) != 1 || !strings.Contains(string(pending[0].Body), `"said"`) {
		t.Errorf("%v", pending)
	}
}

func TestWaitFails(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{
		`{timeout: -1}`, `{timeout: soon}`, `{timeout: 1e12}`, `{oneOf: {}}`, `{oneOf: [a]}`, `{oneOf: [{filters: {}}]}`, `{oneOf: [{event: 'a/b'}]}`,
		`{oneOf: [{event: a, filters: [1]}]}`, `{oneOf: [{event: a, filters: {x: {$where: 1}}}]}`, `{oneOf: [{event: workspaces.created}]}`,
	} {
		k := newKit(t)
		if _, failure := k.run("do:\n- wait: " + parameters + "\n"); failure == nil || failure.Name != machine.InvalidInstruction {
			t.Errorf("%s: %v", parameters, failure)
		}
	}
}

// Without events to wait for, wait is a pause. One of a run that is begun anew is as long as it would have been.
func TestSleep(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	manual := clock.NewManual(time.UnixMilli(1_000_000))
	k.Machine.Clock = manual
	k.Journal.Survives = true
	done := make(chan *machine.Failure)
	automation := k.Add("main", "do:\n- wait: {timeout: 10}\n")
	pause := func() {
		failure, _ := errors.AsType[*machine.Failure](k.Machine.Execute(t.Context(), k.Fresh(), automation, nil).Err)
		done <- failure
	}
	go pause()
	for ended := false; !ended; { // it may not have begun when the clock moves
		manual.Advance(time.Second)
		select {
		case failure := <-done:
			if failure != nil {
				t.Error(failure)
			}
			ended = true
		case <-time.After(time.Millisecond):
		}
	}
	if slept := manual.Now().Sub(time.UnixMilli(1_000_000)); slept < 10*time.Second {
		t.Errorf("it waited %s", slept)
	}
	go pause() // begun anew: the time is over
	if failure := <-done; failure != nil {
		t.Error(failure)
	}
}
