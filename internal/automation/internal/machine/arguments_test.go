package machine_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

// checks stands for what an automation says of its arguments.
type checks struct{ err error }

func (c checks) Check(*value.Object) error { return c.err }

func (checks) Secrets(payload *value.Object) iter.Seq[string] {
	return func(yield func(string) bool) {
		if text, ok := payload.Get("password").(string); ok {
			yield(text)
		}
	}
}

func (checks) Redact(payload, output any) (any, any) {
	if o, ok := payload.(*value.Object); ok {
		o = o.Clone()
		o.Delete("internal")
		payload = o
	}
	return payload, output
}

func TestArguments(t *testing.T) {
	t.Parallel()
	bench := machinetest.New(t)
	sub := bench.Add("sub", `{do: [{set: {name: p, value: "{{password}}"}}], output: {got: "{{p}}"}}`)
	sub.Arguments = checks{}
	bench.Add("main", `{do: [{sub: {password: " pass-word ", internal: 1, x: "a pass-word b", output: r}}], output: "{{r}}"}`)
	if result := bench.Execute("main", nil); machinetest.JSON(result.Output) != `{"got":" pass-word "}` {
		t.Error(machinetest.JSON(result.Output), result.Err)
	}
	for _, record := range bench.Recorder.Of("runtime.automations.executed") {
		if strings.Contains(string(record.Body), "pass-word") || strings.Contains(string(record.Body), "internal") {
			t.Errorf("%s", record.Body)
		}
	}
	sub.Arguments = checks{err: machine.Fail(machine.InvalidArguments, "Invalid arguments").With([]any{"wrong"})}
	result := bench.Execute("main", nil)
	if failure, ok := errors.AsType[*machine.Failure](result.Err); !ok || failure.Name != machine.InvalidArguments {
		t.Error(result.Err)
	}
}

func TestShortSecretsDoNotTakeEverythingOut(t *testing.T) {
	t.Parallel()
	f := machinetest.Frame(t)
	for _, text := range []string{"e", " ", "", "secret", "secret-and-more"} {
		f.Hide(text)
	}
	got := machinetest.JSON(f.Redacted(machinetest.Value(t, `{"e":"e","l":["here", "secret-and-more", "the secret", 1, null], "secret":{}}`)))
	if want := `{"REDACTED":{},"l":["here","REDACTED","the REDACTED",1,null]}`; got != want {
		t.Errorf("%s instead of %s", got, want)
	}
}
