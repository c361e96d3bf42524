package code_test

import (
	"strings"
	"testing"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

// bench is a workspace with the app, whose functions are those of its configuration.
func bench(t *testing.T, c *code.Code, defined *value.Object) *machinetest.Bench {
	t.Helper()
	b := machinetest.New(t)
	home := b.AddInstance(b.Home, "Custom Code", "custom-code")
	home.Config = machine.Payload("functions", defined)
	for slug, method := range c.Methods() {
		home.Automations[slug] = &machine.Automation{Slug: slug, Home: home, Native: method}
	}
	return b
}

func TestApp(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{})
	defined := functions("add(a, b)", "return a + b", "fail()", "throw new TypeError('no way')", "nothing()", "")
	defined.Set("snake", object(t, `{"language":"python","code":"return 1"}`))
	for name, test := range map[string]struct{ step, want, failure string }{
		"run":              {"Custom Code.run: {function: add, parameters: {a: 1, b: '{{n}}'}, output: r}", "42", ""},
		"run function":     {"Custom Code.run function: {function: add, parameters: {a: x, b: y}, output: r}", `"xy"`, ""},
		"without result":   {"Custom Code.run: {function: nothing, output: r}", "", ""},
		"inline":           {"Custom Code.run: {code: 'return [n, await add(n, 1)]', parameters: {n: 1}, output: r}", "[1,2]", ""},
		"inline nodejs":    {"Custom Code.run: {language: nodejs, code: 'return 1', output: r}", "1", ""},
		"inline python":    {"Custom Code.run: {language: python, code: 'return 1', output: r}", "", machine.Configuration},
		"python":           {"Custom Code.run: {function: snake, output: r}", "", machine.Configuration},
		"missing":          {"Custom Code.run: {function: other, output: r}", "", machine.ObjectNotFound},
		"thrown":           {"Custom Code.run: {function: fail, output: r}", "", code.Failed},
		"break":            {"Custom Code.run: {function: fail, onError: break, output: r}", "", code.Failed},
		"emit":             {"Custom Code.run: {function: fail, onError: emit, output: r}", "", ""},
		"continue":         {"Custom Code.run: {function: fail, onError: continue, output: r}", `{"error":"CustomCodeError","message":"The function \"fail\" failed: TypeError: no way"`, ""},
		"unknown onError":  {"Custom Code.run: {function: add, onError: shout}", "", machine.InvalidArguments},
		"nothing to do":    {"Custom Code.run: {}", "", machine.InvalidArguments},
		"empty code":       {"Custom Code.run: {code: ''}", "", machine.InvalidArguments},
		"wrong parameters": {"Custom Code.run: {function: add, parameters: [1]}", "", machine.InvalidArguments},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bench(t, c, defined)
			b.Add("main", "do:\n  - "+test.step+"\noutput: '{{r}}'")
			result := b.Execute("main", machine.Payload("n", 41.0))
			if test.failure != "" {
				if failure := failureOf(t, result.Err); failure.Name != test.failure {
					t.Errorf("%v, want %s", failure, test.failure)
				}
				return
			}
			if got := show(result.Output); result.Err != nil || !strings.HasPrefix(got, test.want) || (test.want == "" && got != "") {
				t.Errorf("%s %v, want %s", got, result.Err, test.want)
			}
		})
	}
}
