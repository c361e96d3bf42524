package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

const placed = `
do:
  - mark: {}
  - conditions: {'false': [], 'true': [{mark: {}}], default: [{mark: {}}]}
  - repeat: {until: 2, do: [{mark: {}}, {repeat: {until: 2, batch: {size: 2}, do: [{mark: {twice: true}}]}}]}
  - all: [{mark: {}}, {mark: {}}, {sub: {}}]
  - try: {do: [{mark: {}}, {nothing: {}}], catch: [{mark: {}}], finally: [{mark: {}}]}
  - sub: {}
  - sub: {}
`

func marking(seen func(place string)) machine.Instructions {
	return machine.Instructions{"mark": machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
		times := 1
		if parameters.Get("twice") == true {
			times = 2
		}
		for range times {
			if _, err := f.Once(func(context.Context, *sqldb.Tx) (any, error) { seen(f.Place()); return true, nil }); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})}
}

// Every effect has a place of its own, and the same one when the run is begun anew.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const effects = 23
	var before []string
	for range 2 {
		bench := machinetest.New(t)
		bench.Journal.Survives = true
		done := make(chan string, 100)
		maps.Copy(bench.Instructions, marking(func(place string) { done <- place }))
		bench.Add("sub", `do: [{mark: {}}, {low: {}}]`)
		bench.Add("low", `do: [{mark: {}}]`)
		bench.Add("main", placed)
		for range 2 { // the second time nothing is done any more
			bench.Run = bench.Fresh()
			if result := bench.Execute("main", nil); result.Err != nil {
				t.Fatal(result.Err)
			}
		}
		if len(done) != effects {
			t.Errorf("%d effects", len(done))
		}
		places := slices.Sorted(maps.Keys(bench.Journal.Places()))
		if before != nil && !slices.Equal(before, places) {
			t.Errorf("%v, and then %v", before, places)
		}
		before = places
	}
	if len(before) != effects || !slices.Contains(before, "0") || !slices.Contains(before, "2.1.1.0.0.0#1") {
		t.Error(len(before), before)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	bench.Home.Hidden = []string{"hush-hush"}
	bench.Run.Trace = &machine.Trace{}
	bench.Add("sub", `{do: [{set: {name: y, value: "{{x}}"}}], output: "{{y}}"}`)
	bench.Add("main", `
do:
  - conditions: {'{{a}} > 1': [], default: [{set: {name: b, value: hush-hush}}]}
  - sub: {x: [1], output: r}
  - repeat: {on: [1, 2], do: [{comment: c}]}
  - try: {do: [{nothing: {}}]}
  - break: {}`)
	if result := bench.Execute("main", nil); result.Err != nil {
		t.Fatal(result.Err)
	}
	text, err := json.Marshal(bench.Run.Trace)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Steps     []machine.TraceStep `json:"steps"`
		Truncated bool                `json:"truncated"`
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	if len(trace.Steps) != 5 || trace.Truncated || strings.Contains(string(text), "hush") {
		t.Fatalf("%s", text)
	}
	s := trace.Steps
	if s[0].Branch != "default" || len(s[0].Children) != 1 || string(s[0].Children[0].Input) != `{"name":"b","value":"REDACTED","type":"replace"}` || s[0].Children[0].Path != "0.-1.0" {
		t.Errorf("%s", text)
	}
	if s[1].Instruction != "sub" || string(s[1].Input) != `{"x":[1],"output":"r"}` || string(s[1].Output) != `{"r":[1]}` || len(s[1].Children) != 1 || s[1].Children[0].Automation != "sub" {
		t.Errorf("%+v", s[1])
	}
	if len(s[2].Children) != 2 || s[3].Branch != "catch" || s[3].Error != nil || s[3].Children[0].Error.Error != machine.ObjectNotFound || s[4].Error != nil || s[0].StartedAt.IsZero() {
		t.Errorf("%s", text)
	}
}

func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	for _, do := range []string{
		`[{repeat: {until: 50000, do: [{set: {name: x, value: 1}}]}}]`,
		`[{set: {name: x, value: aaaaaaaaaaaaaaaa}}, {repeat: {until: 9, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}, {repeat: {until: 1000, do: [{set: {name: y, value: "{{x}}"}}]}}]`,
		`[{set: {name: x, value: aaaaaaaaaaaaaaaa}}, {repeat: {until: 19, do: [{set: {name: x, value: "{{x}}{{x}}"}}]}}]`,
	} {
		bench := machinetest.New(t)
		bench.Run.Trace = &machine.Trace{}
		bench.Add("main", `do: `+do)
		if result := bench.Execute("main", nil); result.Err != nil {
			t.Fatal(result.Err)
		}
		if text, err := json.Marshal(bench.Run.Trace); err != nil || len(text) > 4<<20 || strings.Count(string(text), `"path"`) > 10_000 {
			t.Errorf("%s: %d bytes, %v", do, len(text), err)
		}
	}
}

func TestContextsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"{{user.a}}"`, `"a {{user.a}}"`, `"{% {{user.a}} == 1 %}"`} {
		bench := machinetest.New(t)
		bench.Run.Scopes = unreadable{bench.Scopes}
		bench.Add("main", `{do: [{set: {name: x, value: `+text+`}}], output: "{{x}}"}`)
		if result := bench.Execute("main", nil); name(result.Err) != machine.Broke {
			t.Error(text, result)
		}
	}
}

type unreadable struct{ machine.Scopes }

func (unreadable) Get(*machine.Frame, string) (any, error) {
	return nil, errors.New("the database is gone")
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"base: &b {name: x, value: 1}\ndo:\n  - set: *b\n  - set: {<<: *b, name: y}\noutput: ['{{x}}', '{{y}}']": `[1,1]`,
		"do: \noutput: {a: 1}":                           `{"a":1}`,
		"output: [1, 1.5, true, null, '007', 007, 0x10]": `[1,1.5,true,null,"007","007",16]`,
		"do: {set: {}}":                                  `InvalidInstructionError`,
		"output: '{{a..b}}'":                             `InvalidVariableNameError`,
		"output: '{% date(run) %}'":                      `null`,
		"output: 'a {{u}} {{n}} {{l}}'":                  `"a  1 [\n  1\n]"`,
	} {
		output, err := machinetest.Run(t, text, machinetest.Object(t, `{"n":1,"l":[1]}`))
		got := machinetest.JSON(output)
		if err != nil {
			got = name(err)
		}
		if got != want {
			t.Errorf("%s: %s instead of %s", text, got, want)
		}
	}
	bench := machinetest.New(t)
	a := bench.Add("a", "{private: true, disabled: true, authorizations: {action: approve}, do: []}")
	if !a.Private || !a.Disabled || a.Action != "approve" || a.Broken != nil {
		t.Errorf("%+v", a)
	}
	if broken := machine.Compile(nil, bench.Home, "x", nil); broken.Broken == nil {
		t.Error("nothing is an automation")
	}
	if kind, v := bench.Frame().Trigger(); kind != "endpoint" || v != "main" {
		t.Error("the trigger is another one")
	}
}
