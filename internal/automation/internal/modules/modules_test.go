package modules_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/modules"
	"atelier/internal/automation/internal/modules/crypto"
	"atelier/internal/automation/internal/modules/text"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
)

func table() modules.Table {
	return modules.Table{
		"crypto": crypto.Functions(ident.Source{}),
		"text":   text.Functions(),
		"test": {
			"echo": func(_ *machine.Frame, parameters *value.Object) (any, error) { return parameters, nil },
			"none": func(*machine.Frame, *value.Object) (any, error) { return value.Undefined{}, nil },
			"fail": func(*machine.Frame, *value.Object) (any, error) {
				return nil, machine.Fail("MyError", "No.").With(machine.Payload("a", 1.0))
			},
			"break": func(*machine.Frame, *value.Object) (any, error) { return nil, errors.New("password of /etc/x") },
		},
	}
}

func language() machine.Instructions {
	return machine.Instructions{"run": modules.Instruction(table())}
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, want string }{
		"result":        {`{module: test, function: echo, parameters: {a: "{{x}}", b: [1]}, output: result}`, `{"a":"y","b":[1]}`},
		"no parameters": {`{module: test, function: echo, output: result}`, `{}`},
		"computed":      {`{module: "{{m}}", function: echo, parameters: "{{p}}", onError: continue, output: result}`, `{"q":2}`},
		"no result":     {`{module: test, function: none, output: result}`, `"before"`},
		"of a module":   {`{module: crypto, function: md5, parameters: {data: "{{x}}"}, output: result}`, `"415290769594460e2e485922904f345d"`},
		"of another":    {`{module: text, function: search, parameters: {content: "a", pattern: b}, output: result}`, `[]`},
		"continue":      {`{module: test, function: fail, onError: continue, output: result}`, `{"error":"MyError","message":"No.","details":{"a":1}}`},
		"continue, ours": {
			`{module: test, function: break, onError: continue, output: result}`,
			`{"error":"SvcError","message":"Something went wrong on our side. Try again; quote the correlation id when you report it."}`,
		},
		"emit": {`{module: test, function: fail, onError: emit, output: result}`, `"before"`},
	} {
		out, err := machinetest.Run(t, "do:\n- set: {name: result, value: before}\n- run: "+c.run+"\noutput: \"{{result}}\"",
			machinetest.Object(t, `{"x":"y","m":"test","p":{"q":2}}`), language())
		if err != nil || machinetest.JSON(out) != c.want {
			t.Errorf("%s: %s, %v", name, machinetest.JSON(out), err)
		}
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, failure, says string }{
		"break":            {`{module: test, function: fail}`, "MyError", "No."},
		"break said":       {`{module: test, function: fail, onError: break}`, "MyError", "No."},
		"no module":        {`{function: fail}`, machine.InvalidInstruction, "run: module is missing; it is one of crypto, test, text"},
		"other module":     {`{module: access-manager, function: x}`, machine.InvalidInstruction, `there is no module "access-manager"; it is one of crypto, test, text`},
		"module as object": {`{module: {a: 1}, function: x}`, machine.InvalidInstruction, "there is no module"},
		"no function":      {`{module: text}`, machine.InvalidInstruction, "run: function is missing; it is one of applyPatch, diff, parseUrl, search, splitText, substitute"},
		"other function":   {`{module: crypto, function: sha1}`, machine.InvalidInstruction, `there is no function "sha1"; it is one of base64Decode`},
		"parameters":       {`{module: test, function: echo, parameters: [1]}`, machine.InvalidInstruction, "parameters must be an object"},
		"onError":          {`{module: test, function: echo, onError: throw}`, machine.InvalidInstruction, `there is no onError "throw"; it is one of break, emit, continue`},
	} {
		_, err := machinetest.Run(t, "do:\n- run: "+c.run, value.NewObject(0), language())
		var failure *machine.Failure
		if !errors.As(err, &failure) || failure.Name != c.failure || !strings.Contains(failure.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is emitted is an error event of the automation, which goes on.
func TestEmit(t *testing.T) {
	t.Parallel()
	b := machinetest.New(t, language())
	b.Add("main", "do:\n- run: {module: test, function: fail, onError: emit}\noutput: on")
	result := b.Execute("main", value.NewObject(0))
	events := b.Recorder.Of("error")
	if result.Output != "on" || result.Err != nil || len(events) != 1 {
		t.Fatalf("%v, %v, %d events", result.Output, result.Err, len(events))
	}
}

// A run that is over does not go on, whatever is to become of errors.
func TestEndedRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	table := modules.Table{"test": {"fail": func(f *machine.Frame, _ *value.Object) (any, error) {
		cancel()
		return nil, f.Context().Err()
	}}}
	b := machinetest.New(t, machine.Instructions{"run": modules.Instruction(table)})
	automation := b.Add("main", "do:\n- run: {module: test, function: fail, onError: continue, output: x}\noutput: on")
	if result := b.Machine.Execute(ctx, b.Run, automation, value.NewObject(0)); result.Err == nil {
		t.Errorf("it went on: %v", result.Output)
	}
}
