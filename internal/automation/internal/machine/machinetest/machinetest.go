// Package machinetest runs automations in tests: a machine whose contexts, journal and events are in memory.
package machinetest

import (
	"io"
	"log/slog"
	"maps"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
)

// Bench is a machine with a workspace and a run in it. Change what a test needs before anything runs.
type Bench struct {
	Machine      *machine.Machine
	Instructions machine.Instructions
	Home         *machine.Home
	Run          *machine.Run
	Recorder     *Recorder
	Scopes       *Scopes
	Journal      *Journal

	t testing.TB
}

// New makes a bench. The instructions are put beside those that steer an automation.
func New(t testing.TB, more ...machine.Instructions) *Bench {
	t.Helper()
	b := &Bench{t: t, Instructions: instructions.Control(), Recorder: &Recorder{}, Scopes: NewScopes(), Journal: NewJournal()}
	for _, others := range more {
		maps.Copy(b.Instructions, others)
	}
	b.Home = &machine.Home{
		WorkspaceID: "wks1234", WorkspaceSlug: "test", WorkspaceName: "Test", Automations: map[string]*machine.Automation{},
		Instances: map[string]*machine.Home{}, Config: value.NewObject(0), Secrets: value.NewObject(0), Global: value.NewObject(0),
		Definition: machine.Payload("slug", "test"),
	}
	b.Machine = &machine.Machine{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: clock.System{}, Recorder: b.Recorder,
		Limits: machine.Limits{Depth: 20, Memory: 64 << 20, Steps: 10_000_000, Local: 50 << 20}, Locale: "en", Zone: time.UTC,
	}
	b.Run = b.Fresh()
	return b
}

// Fresh makes another run of the same workspace, with the same contexts, journal and events.
func (b *Bench) Fresh() *machine.Run {
	return &machine.Run{
		Root: b.Home, Trigger: catalogue.Trigger{Type: "endpoint", Value: "main"}, CorrelationID: "correlation-1",
		Caller: access.Principal{Kind: access.User, UserID: "user-1", SessionID: "session-1"}, Scopes: b.Scopes, Journal: b.Journal,
		Started: b.Machine.Clock.Now(),
	}
}

// Add compiles an automation of the workspace from its text.
func (b *Bench) Add(slug, text string) *machine.Automation {
	b.t.Helper()
	return b.AddTo(b.Home, slug, text)
}

// AddTo compiles an automation of a home.
func (b *Bench) AddTo(home *machine.Home, slug, text string) *machine.Automation {
	b.t.Helper()
	document, problems := dsul.Parse(dsul.Automation, slug, []byte(text))
	if len(problems) > 0 {
		b.t.Fatalf("%s cannot be read: %v", slug, problems)
	}
	automation := machine.Compile(b.Instructions, home, slug, document.Root)
	home.Automations[slug] = automation
	return automation
}

// AddInstance puts an instance of an app into a home.
func (b *Bench) AddInstance(parent *machine.Home, instance, app string) *machine.Home {
	full := instance
	if parent.FullSlug != "" {
		full = parent.FullSlug + "." + instance
	}
	home := &machine.Home{
		WorkspaceID: parent.WorkspaceID, WorkspaceSlug: parent.WorkspaceSlug, WorkspaceName: parent.WorkspaceName,
		AppSlug: app, Instance: instance, FullSlug: full, Depth: parent.Depth + 1, Parent: parent,
		Automations: map[string]*machine.Automation{}, Instances: map[string]*machine.Home{}, Config: value.NewObject(0), Secrets: value.NewObject(0),
	}
	parent.Instances[instance] = home
	return home
}

// Execute runs an automation of the workspace.
func (b *Bench) Execute(slug string, payload *value.Object) machine.Result {
	b.t.Helper()
	return b.Machine.Execute(b.t.Context(), b.Run, b.Home.Automations[slug], payload)
}

// Frame gives a frame in an automation called main, whose local variables are the pairs of names and values.
func (b *Bench) Frame(pairs ...any) *machine.Frame {
	b.t.Helper()
	automation, ok := b.Home.Automations["main"]
	if !ok {
		automation = b.Add("main", "do: []")
	}
	return b.Machine.Frame(b.t.Context(), b.Run, automation, machine.Payload(pairs...))
}

// Frame gives a frame of a new bench, whose local variables are the pairs of names and values.
func Frame(t testing.TB, pairs ...any) *machine.Frame {
	t.Helper()
	return New(t).Frame(pairs...)
}

// Run runs an automation that is given as its text, with the payload and, beside those that steer it, some more instructions.
func Run(t testing.TB, text string, payload *value.Object, more ...machine.Instructions) (output any, err error) {
	t.Helper()
	b := New(t, more...)
	b.Add("main", text)
	result := b.Execute("main", payload)
	return result.Output, result.Err
}

// JSON writes a value so that a test can compare it.
func JSON(v any) string {
	const large = 1 << 30
	text, _ := value.JSON(v, "", large)
	return text
}

// Value reads JSON as a value of the language.
func Value(t testing.TB, text string) any {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Object reads JSON as an object of the language.
func Object(t testing.TB, text string) *value.Object {
	t.Helper()
	o, ok := Value(t, text).(*value.Object)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	return o
}
