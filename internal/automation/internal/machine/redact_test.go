package machine_test

import (
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
)

// What the homes of a run hide is not seen in its events, whether they have one list, as models give them, or each its own; and what
// one run hides, the next one does not.
func TestHomesHide(t *testing.T) {
	t.Parallel()
	same := []string{"first-text", "other-text"}
	for name, c := range map[string]struct{ root, app []string }{
		"one list": {same, same}, "lists of their own": {same[:1], same[1:]}, "equal lists": {same, []string{"first-text", "other-text"}},
		"only the app": {nil, same}, "only the root": {same, nil},
	} {
		bench := machinetest.New(t)
		app := bench.AddInstance(bench.Home, "app", "App")
		bench.AddTo(app, "low", `{do: [], output: "first-text other-text third-text"}`)
		bench.Add("main", `{do: [{app.low: {a: "first-text"}}], output: "first-text other-text third-text"}`)
		bench.Home.Hidden, app.Hidden = c.root, c.app
		if result := bench.Execute("main", nil); result.Err != nil {
			t.Fatal(result.Err)
		}
		told := bench.Recorder.Of("runtime.automations.executed")
		for _, event := range told {
			if text := string(event.Body); strings.Contains(text, "first-text") || strings.Contains(text, "other-text") || !strings.Contains(text, "REDACTED REDACTED third-text") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if len(told) != 2 {
			t.Errorf("%s: %d events", name, len(told))
		}
	}
	bench := machinetest.New(t)
	bench.Home.Hidden = same
	frame := bench.Frame()
	frame.Hide("third-text")
	if got := machinetest.JSON(frame.Redacted([]any{"a third-text", "first-text"})); got != `["a REDACTED","REDACTED"]` {
		t.Error(got)
	}
	next := bench.Machine.Frame(t.Context(), bench.Fresh(), frame.Automation(), nil)
	if got := machinetest.JSON(next.Redacted([]any{"a third-text", "first-text"})); got != `["a third-text","REDACTED"]` {
		t.Error(got)
	}
}

// Whoever acts in a run is the caller of its context; the caller's power is not lent to somebody of the same name.
func TestContextOfWhoActs(t *testing.T) {
	t.Parallel()
	caller := access.Principal{Kind: access.User, Credential: access.BySession, UserID: "ann", SuperAdmin: true}
	scopes := machinetest.NewScopes()
	scopes.Become(caller)
	bench := machinetest.New(t)
	run := bench.Fresh()
	run.Caller, run.Scopes = caller, scopes
	frame := bench.Machine.Frame(t.Context(), run, bench.Add("main", `{do: []}`), machine.Payload())
	if got := access.From(frame.Context()); got.UserID != "ann" || !got.SuperAdmin {
		t.Errorf("%+v", got)
	}
	for _, other := range []access.Principal{{Kind: access.User, UserID: "bob"}, {Kind: access.User, UserID: "ann"}, {}} {
		scopes.Become(other)
		if got := access.From(frame.Context()); got.UserID != other.UserID || got.Kind != other.Kind || got.SuperAdmin {
			t.Errorf("%+v instead of %+v", got, other)
		}
	}
}
