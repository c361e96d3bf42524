package code_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/spawn"
	"atelier/internal/automation/internal/code/worker"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// canary is a secret of this process that no worker may ever see.
const canary = "CANARY_8f1c2b"

// The test program is its own worker, as the product is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			os.Exit(worker.Run(worker.Standard(), os.Exit))
		case "nursery":
			os.Exit(spawn.Serve())
		case "probe":
			os.Exit(probe())
		case "liar":
			os.Exit(lie(os.Args[2]))
		}
	}
	if err := os.Setenv("ATELIER_CANARY", canary); err != nil {
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// program is this test as a worker.
func program(arguments ...string) code.Program {
	if len(arguments) == 0 {
		arguments = []string{"worker"}
	}
	return code.Program{Args: append([]string{"atelier"}, arguments...), Nursery: []string{"atelier", "nursery"}}
}

// room starts a pool that is stopped with the test; no process of it is left behind.
func room(t testing.TB, limits code.Limits, other ...code.Program) *code.Code {
	t.Helper()
	deps := code.Deps{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, Limits: limits, Program: program()}
	if len(other) > 0 {
		deps.Program = other[0]
	}
	return started(t, deps)
}

func started(t testing.TB, deps code.Deps) *code.Code {
	t.Helper()
	c := code.New(deps)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Errorf("workers are left behind: %v", err)
		}
	})
	return c
}

func object(t testing.TB, text string) *value.Object {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o, ok := v.(*value.Object)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	return o
}

// functions makes definitions of names and bodies; a name may have parameters: add(a, b).
func functions(pairs ...string) *value.Object {
	all := value.NewObject(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, rest, _ := strings.Cut(pairs[i], "(")
		parameters := value.NewObject(2)
		for one := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			if one = strings.TrimSpace(one); one != "" {
				parameters.Set(one, machine.Payload("type", "string"))
			}
		}
		all.Set(name, machine.Payload("language", "nodejs", "parameters", parameters, "code", pairs[i+1]))
	}
	return all
}

func failureOf(t testing.TB, err error) *machine.Failure {
	t.Helper()
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok {
		t.Fatalf("%v is no failure of the language", err)
	}
	return failure
}

func show(v any) string {
	text, _ := value.JSON(v, "", 1<<20)
	return text
}

func inline(t testing.TB, c *code.Code, workspace, text string) (any, error) {
	t.Helper()
	answer, err := c.Run(t.Context(), code.Call{WorkspaceID: workspace, Code: text})
	return answer.Result, err
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{})
	defined := functions(
		"add(a, b)", "return a + b",
		"twice(n)", "return await add(n, n) + await add({a: n, b: n})",
		"whole(o)", "return o.x",
		"useWhole()", "return await whole({x: 5})",
		"broken()", "return (",
		"bad-name()", "return 'called from outside only'",
		"log(what)", "console.log('hi', what, {a: [1, 'x']}); console.error('%s!', 'oh'); return cache",
		"extra()", "return given",
		"class()", "return 1",
	)
	for _, test := range []struct{ function, parameters, want, logs string }{
		{"add", `{"a":1,"b":2}`, "3", "[]"},
		{"add", `{"a":"é","b":"\ud83d\ude00"}`, `"é😀"`, "[]"},
		{"twice", `{"n":2}`, "8", "[]"},
		{"useWhole", `{}`, "5", "[]"},
		{"bad-name", `{}`, `"called from outside only"`, "[]"},
		{"class", `{}`, "1", "[]"},
		{"log", `{"what":{"b":null}}`, "{}", "[hi { b: null } { a: [ 1, 'x' ] } oh!]"},
		{"extra", `{"given":[1,{"a":true}]}`, `[1,{"a":true}]`, "[]"},
	} {
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "one", Functions: defined, Function: test.function, Parameters: object(t, test.parameters)})
		if err != nil || show(answer.Result) != test.want || fmt.Sprint(answer.Logs) != test.logs {
			t.Errorf("%s%s: %s %v %v, want %s %s", test.function, test.parameters, show(answer.Result), answer.Logs, err, test.want, test.logs)
		}
		if answer.Duration <= 0 || answer.Duration > 10*time.Second {
			t.Errorf("%s took %s", test.function, answer.Duration)
		}
	}
	// One that is broken breaks no other one.
	_, err := c.Run(t.Context(), code.Call{WorkspaceID: "one", Functions: defined, Function: "broken"})
	if failure := failureOf(t, err); failure.Name != code.Failed || !strings.Contains(failure.Message, "SyntaxError") {
		t.Errorf("%v", failure)
	}
	_, err = c.Run(t.Context(), code.Call{WorkspaceID: "one", Functions: defined, Function: "none"})
	failure := failureOf(t, err)
	if failure.Name != machine.ObjectNotFound || show(value.From(failure.Details)) != `{"function":"none","path":"/run/none"}` {
		t.Errorf("%v %v", failure, failure.Details)
	}
}

// The cache lives as long as the process: over calls, over a change of the functions, and beside code that is run inline.
func TestCache(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{})
	first := functions("count()", "cache.n = (cache.n ?? 0) + 1; return cache.n")
	count := func(workspace, owner string, defined *value.Object) string {
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: workspace, Owner: owner, Functions: defined, Function: "count"})
		if err != nil {
			t.Fatal(err)
		}
		return show(answer.Result)
	}
	for i := range 5 {
		if got := count("a", "", first); got != fmt.Sprint(i+1) {
			t.Fatalf("call %d gives %s", i+1, got)
		}
	}
	if got, err := inline(t, c, "a", "globalThis.left = 1; cache.n = 100; return typeof cache.n"); err != nil || got != "number" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := inline(t, c, "a", "return typeof left + ' ' + typeof cache.n"); err != nil || got != "undefined undefined" {
		t.Errorf("inline code finds what other code left: %v %v", got, err)
	}
	changed := functions("count()", "cache.n += 10; return cache.n", "other()", "")
	if got := count("a", "", changed); got != "15" {
		t.Errorf("after a change of the functions: %s", got)
	}
	if got := count("b", "", first); got != "1" {
		t.Errorf("another workspace sees the cache: %s", got)
	}
	if got := count("a", "app", first); got != "1" {
		t.Errorf("an app of the workspace sees the cache: %s", got)
	}
}

func TestPythonIsRefused(t *testing.T) {
	t.Parallel()
	c := room(t, code.Limits{})
	defined := object(t, `{"p":{"language":"python","code":"return 1"},"j":{"code":"return 1"}}`)
	_, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "p"})
	if failure := failureOf(t, err); failure.Name != machine.Configuration || !strings.Contains(failure.Message, "python is not available") {
		t.Errorf("%v", failure)
	}
	if answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "j"}); err != nil || answer.Result != 1.0 {
		t.Errorf("%v %v", answer, err)
	}
}

// What a system cannot do elsewhere is not asked of it.
func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has it")
	}
}
