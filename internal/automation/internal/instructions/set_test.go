package instructions_test

import (
	"errors"
	"sync"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

func TestSet(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"replaces", `[{set: {name: a, value: 1}}, {set: {name: a, value: {b: [1, "{{c}}"]}}}]`, `"{{a}}"`, `{"c":{"d":null}}`, `{"b":[1,{"d":null}]}`},
		{"makes parents as objects", `[{set: {name: "out[0].b", value: 1}}]`, `"{{out}}"`, ``, `{"0":{"b":1}}`},
		{"makes objects of null", `[{set: {name: a.b, value: 1}}]`, `"{{a}}"`, `{"a":null}`, `{"b":1}`},
		{"does not go into a text", `[{set: {name: a.b, value: 1}}]`, ``, `{"a":"x"}`, `error: InvalidInstructionError Invalid set instruction`},
		{"does not go into a number", `[{set: {name: a.b.c, value: 1}}]`, ``, `{"a":{"b":0}}`, `error: InvalidInstructionError Invalid set instruction`},
		{"needs a text as name", `[{set: {name: 5, value: 1}}]`, ``, ``, `error: InvalidInstructionError Invalid set instruction`},
		{"needs a name", `[{set: {value: 1}}]`, ``, ``, `error: InvalidInstructionError Invalid set instruction`},
		{"refuses a bad path", `[{set: {name: "a..b", value: 1}}]`, ``, ``, `error: InvalidVariableNameError "a..b"`},
		{"refuses a bad path from data", `[{set: {name: "{{n}}.", value: 1}}]`, ``, `{"n":"a"}`, `error: InvalidVariableNameError "a."`},
		{"pushes with brackets", `[{set: {name: "a[]", value: 1}}, {set: {name: "a[]", value: [2]}}]`, `"{{a}}"`, ``, `[1,[2]]`},
		{"pushes with a type", `[{set: {name: a, value: 1, type: push}}, {set: {name: a, value: 2, type: push}}]`, `"{{a}}"`, ``, `[1,2]`},
		{"pushes to what is no list", `[{set: {name: a, value: 1, type: push}}]`, `"{{a}}"`, `{"a":{"b":1}}`, `[1]`},
		{"pushes deeper", `[{set: {name: "a.b[]", value: 1}}]`, `"{{a}}"`, ``, `{"b":[1]}`},
		{"brackets win over replace", `[{set: {name: "a[]", value: 2, type: replace}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,2]`},
		{"brackets and merge put lists together", `[{set: {name: "a[]", value: [2, 3], type: merge}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,2,3]`},
		{"brackets and merge make a list", `[{set: {name: "a[]", value: [2, 3], type: merge}}]`, `"{{a}}"`, ``, `[2,3]`},
		{"brackets and merge push what is no list", `[{set: {name: "a[]", value: {b: 1}, type: merge}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,{"b":1}]`},
		{"merges lists", `[{set: {name: a, value: [2], type: merge}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,2]`},
		{"merges a value into a list", `[{set: {name: a, value: 2, type: merge}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,2]`},
		{"merges objects, not deeper", `[{set: {name: a, value: {b: {x: 1}, d: 4}, type: merge}}]`, `"{{a}}"`, `{"a":{"b":{"y":2},"c":3}}`, `{"b":{"x":1},"c":3,"d":4}`},
		{"merges into null", `[{set: {name: a, value: {b: 1}, type: merge}}]`, `"{{a}}"`, `{"a":null}`, `{"b":1}`},
		{"does not merge a text into an object", `[{set: {name: a, value: x, type: merge}}]`, `"{{a}}"`, `{"a":{"b":1}}`, `{"b":1}`},
		{"does not merge a list into an object", `[{set: {name: a, value: [1], type: merge}}]`, `"{{a}}"`, `{"a":{"b":1}}`, `{"b":1}`},
		{"does not merge null into an object", `[{set: {name: a, value: null, type: merge}}]`, `"{{a}}"`, `{"a":{"b":1}}`, `{"b":1}`},
		{"merges into nothing", `[{set: {name: a, value: [1], type: merge}}]`, `"{{a}}"`, ``, `[1]`},
		{"merges into a number", `[{set: {name: a, value: {b: 1}, type: merge}}]`, `"{{a}}"`, `{"a":7}`, `{"b":1}`},
		{"sets undefined without a value", `[{set: {name: a}}]`, `{a: "{{a}}", l: ["{{a}}"]}`, `{"a":1}`, `{"l":[null]}`},
		{"sets null", `[{set: {name: a, value: null}}]`, `{a: "{{a}}"}`, `{"a":1}`, `{"a":null}`},
		{"sets an item", `[{set: {name: "a[1]", value: x}}]`, `"{{a}}"`, `{"a":[1,2,3]}`, `[1,"x",3]`},
		{"sets behind the end", `[{set: {name: "a[3]", value: x}}]`, `"{{a}}"`, `{"a":[1]}`, `[1,null,null,"x"]`},
		{"has no other keys in lists", `[{set: {name: a.b, value: x}}]`, ``, `{"a":[1]}`, `error: InvalidInstructionError Invalid set instruction`},
		{"does not fill the memory with an index", `[{set: {name: "a[999999999]", value: x}}]`, ``, `{"a":[1]}`, `error: InvalidInstructionError Invalid set instruction`},
		{"takes keys with quotes", `[{set: {name: 'a["x.y"]', value: 1}}, {set: {name: "a['x y']", value: 2}}, {set: {name: "a[word]", value: 3}}, {set: {name: "a.01", value: 4}}]`, `"{{a}}"`, ``, `{"x.y":1,"x y":2,"word":3,"1":4}`},
		{"computes names", `[{set: {name: "a[{{k}}].{{l}}", value: 1}}]`, `"{{a}}"`, `{"k":"x.y","l":"p.q"}`, `{"x.y":{"p":{"q":1}}}`},
		{"computes the type", `[{set: {name: a, value: 1, type: "{{k}}"}}]`, `"{{a}}"`, `{"k":"push"}`, `[1]`},
		{"computes all of it", `[{set: "{{all}}"}]`, `"{{a}}"`, `{"all":{"name":"a","value":{"b":1}}}`, `{"b":1}`},
		{"refuses what is no map", `[{set: "{{all}}"}]`, ``, `{"all":"x"}`, `error: InvalidInstructionError must be a map`},
		{"shares nothing", `[{set: {name: b, value: "{{a}}"}}, {set: {name: b.x.y, value: 2}}, {set: {name: "a.l[]", value: 3}}]`, `{a: "{{a}}", b: "{{b}}"}`, `{"a":{"x":{"y":1},"l":[]}}`, `{"a":{"x":{"y":1},"l":[3]},"b":{"x":{"y":2},"l":[]}}`},
		{"changes no constant", `[{repeat: {until: 2, do: [{set: {name: a, value: {l: []}}}, {set: {name: "a.l[]", value: 1}}]}}]`, `"{{a}}"`, ``, `{"l":[1]}`},
		{"hides the workspace", `[{set: {name: $workspace, value: 1}}, {set: {name: secret, value: 1}}]`, `["{{$workspace.slug}}", "{{secret.x}}"]`, ``, `["test",null]`},
		{"changes contexts", `[{set: {name: user.a.b, value: 1}}, {set: {name: "user.l[]", value: 2}}, {set: {name: user, value: {c: 3}, type: merge}}, {delete: {name: user.a.b}}]`, `"{{user}}"`, ``, `{"a":{},"l":[2],"c":3}`},
		{"keeps contexts objects", `[{set: {name: user, value: 1}}]`, ``, ``, `error: InvalidInstructionError Invalid set instruction`},
		{"does not go into a value of a context", `[{set: {name: user.a, value: 1}}, {set: {name: user.a.b, value: 1}}]`, ``, ``, `error: InvalidInstructionError Invalid set instruction`},
		{"fails without parameters", `[{set: }]`, ``, ``, `error: InvalidInstructionError Invalid set instruction : undefined or null payload`},
		{"fails with parameters that are nothing", `[{set: "{{nothing}}"}]`, ``, ``, `error: InvalidInstructionError Invalid set instruction : undefined or null payload`},
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"a key", `[{delete: {name: a.b}}]`, `"{{a}}"`, `{"a":{"b":1,"c":2}}`, `{"c":2}`},
		{"an item", `[{delete: {name: "a[1]"}}]`, `"{{a}}"`, `{"a":[1,2,3]}`, `[1,3]`},
		{"the first item", `[{set: {name: "a[]", value: 4}}, {delete: {name: "a[0]"}}, {set: {name: "a[0]", value: x}}]`, `"{{a}}"`, `{"a":[1,2,3]}`, `["x",3,4]`},
		{"a variable", `[{delete: {name: a}}]`, `{a: "{{a}}"}`, `{"a":1}`, `{}`},
		{"what is not there, with its parents", `[{delete: {name: a.b.c}}]`, `"{{a}}"`, ``, `{"b":{}}`},
		{"no item of a list", `[{delete: {name: "a[7]"}}, {delete: {name: a.x}}]`, `"{{a}}"`, `{"a":[1]}`, `[1]`},
		{"nothing in a text", `[{delete: {name: a.b}}]`, `"{{a}}"`, `{"a":"x"}`, `"x"`},
		{"without a name", `[{delete: {}}]`, ``, ``, `error: InvalidInstructionError Invalid delete instruction`},
		{"what others hold", `[{set: {name: b, value: "{{a}}"}}, {delete: {name: a.x}}, {delete: {name: "a.l[0]"}}]`, `["{{a}}", "{{b}}"]`, `{"a":{"x":1,"l":[1,2]}}`, `[{"l":[2]},{"x":1,"l":[1,2]}]`},
	})
}

// stream is what a client gets bit by bit.
type stream struct {
	mu  sync.Mutex
	got []any
	err error
}

func (s *stream) Push(_ *machine.Frame, v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, v)
	return s.err
}

func TestSetOnAStream(t *testing.T) {
	t.Parallel()
	sink := &stream{}
	bench := machinetest.New(t)
	bench.Add("sub", `{do: [{set: {name: out, value: {chunk: {a: 2}}}}], output: "{{out}}"}`)
	bench.Add("main", `
do:
  - set: {name: $http, value: {status: 201}}
  - set: {name: $http.headers.x, value: "1"}
  - sub: {out: "{{$http}}", output: back}
  - set: {name: back, value: {chunk: {a: 3}}}
output: {http: "{{$http}}", text: "a{{$http}}b"}`)
	result := bench.Execute("main", machine.Payload("$http", sink))
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	if got, want := machinetest.JSON(sink.got), `[{"status":201},{"headers":{"x":"1"}},{"chunk":{"a":2}},{"chunk":{"a":3}}]`; got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	if got := machinetest.JSON(result.Output); got != `{"text":"ab"}` {
		t.Errorf("the stream is seen: %s", got)
	}
	sink.err = errors.New("the client left")
	if result := bench.Execute("main", machine.Payload("$http", sink)); result.Err == nil {
		t.Error("a stream that takes nothing does not fail")
	}
}

func TestSetTellsWhatItCouldNotSet(t *testing.T) {
	t.Parallel()
	_, err := machinetest.Run(t, `do: [{set: {name: a.b, value: {c: 1}}}]`, machine.Payload("a", "x"))
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok || machinetest.JSON(failure.Details) != `{"variable":"a.b","value":{"c":1}}` {
		t.Error(err, failure.Details)
	}
}

func TestOutputOfAnyInstruction(t *testing.T) {
	t.Parallel()
	give := machine.Instructions{"give": machine.Simple(func(_ *machine.Frame, parameters *value.Object) (any, error) {
		return parameters.Get("it"), nil
	})}
	for _, c := range []struct{ do, payload, want, reported string }{
		{`{give: {it: 1, output: a.b}}`, `{}`, `{"a":{"b":1}}`, ""},
		{`{give: {it: 1, output: "a[]"}}`, `{"a":[0]}`, `{"a":[0,1]}`, ""},
		{`{give: {it: "{{nothing}}", output: a}}`, `{"a":5}`, `{"a":5}`, ""},
		{`{give: {it: null, output: a}}`, `{"a":5}`, `{"a":null}`, ""},
		{`{give: {it: 1}}`, `{"a":5}`, `{"a":5}`, ""},
		{`{give: {it: 1, output: "a..b"}}`, `{"a":5}`, `{"a":5}`, machine.InvalidOutput},
		{`{give: {it: 1, output: 7}}`, `{"a":5}`, `{"a":5}`, machine.InvalidOutput},
		{`{give: {it: 1, output: a.b}}`, `{"a":5}`, `{"a":5}`, machine.InvalidOutput},
	} {
		bench := machinetest.New(t, give)
		bench.Add("main", `{do: [`+c.do+`], output: {a: "{{a}}"}}`)
		result := bench.Execute("main", machinetest.Object(t, c.payload))
		if result.Err != nil || machinetest.JSON(result.Output) != c.want {
			t.Errorf("%s: %s, %v", c.do, machinetest.JSON(result.Output), result.Err)
		}
		errorsSeen := bench.Recorder.Of("error")
		if (c.reported != "") != (len(errorsSeen) == 1) || len(errorsSeen) == 1 && !contains(errorsSeen[0].Body, c.reported) {
			t.Errorf("%s: %v", c.do, errorsSeen)
		}
	}
}
