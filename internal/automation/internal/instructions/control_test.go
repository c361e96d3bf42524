package instructions_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

func contains(body []byte, text string) bool { return bytes.Contains(body, []byte(text)) }

func TestConditions(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"takes the first that holds", `[{conditions: {'{{a}} > 1': [{set: {name: x, value: 1}}], '{{a}} > 0': [{set: {name: x, value: 2}}], 'true': [{set: {name: x, value: 3}}]}}]`, `"{{x}}"`, `{"a":1}`, `2`},
		{"takes the default, wherever it is", `[{conditions: {default: [{set: {name: x, value: d}}], '{{a}}': [{set: {name: x, value: a}}]}}]`, `"{{x}}"`, ``, `"d"`},
		{"prefers the others to the default", `[{conditions: {default: [{set: {name: x, value: d}}], '{{a}}': [{set: {name: x, value: a}}]}}]`, `"{{x}}"`, `{"a":1}`, `"a"`},
		{"needs no default", `[{conditions: {'{{a}}': [{set: {name: x, value: a}}]}}]`, `{x: "{{x}}"}`, ``, `{}`},
		{"needs nothing", `[{conditions: {}}]`, `"ok"`, ``, `"ok"`},
		{"takes the order of the text", `[{conditions: {'{{a}}': [{set: {name: x, value: first}}], '1': [{set: {name: x, value: second}}]}}]`, `"{{x}}"`, `{"a":true}`, `"first"`},
		{"takes truth as JavaScript does", `[{conditions: {'{{a}}': [{set: {name: x, value: yes}}], default: [{set: {name: x, value: no}}]}}]`, `"{{x}}"`, `{"a":[]}`, `"yes"`},
		{"takes blocks in keys", `[{conditions: {'{% {{a}} == 2 %}': [{set: {name: x, value: yes}}]}}]`, `"{{x}}"`, `{"a":2}`, `"yes"`},
		{"does not read texts in quotes", `[{conditions: {'{{a}} == "{{b}}"': [{set: {name: x, value: yes}}], default: [{set: {name: x, value: no}}]}}]`, `"{{x}}"`, `{"a":1,"b":1}`, `"no"`},
		{"fails by syntax when it gets there", `[{conditions: {'{{a}}': [{set: {name: x, value: 1}}], '1 +': []}}]`, `"{{x}}"`, `{"a":true}`, `1`},
		{"fails by syntax", `[{conditions: {'1 +': []}}]`, ``, ``, `error: InvalidExpressionSyntax `},
		{"has branches without instructions", `[{conditions: {'true': }}]`, `"ok"`, ``, `"ok"`},
		{"does nothing with an empty instruction", `[{}]`, `"ok"`, ``, `"ok"`},
		{"ignores comments", `[{comment: 'unterminated {{ and {% 1 +'}, {comment: }]`, `"ok"`, ``, `"ok"`},
		{"looks at the first key", `[{set: {name: a, value: 1}, nothing: {}}]`, `"{{a}}"`, ``, `1`},
		{"refuses instructions that are none", `[just text]`, ``, ``, `error: InvalidInstructionError one key`},
	})
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"a list", `[{repeat: {on: "{{l}}", do: [{set: {name: "o[]", value: "{{$index}}:{{item}}"}}]}}]`, `"{{o}}"`, `{"l":["a","b"]}`, `["0:a","1:b"]`},
		{"an object", `[{repeat: {on: "{{l}}", do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, `{"l":{"b":1,"a":2}}`, `[{"key":"b","value":1},{"key":"a","value":2}]`},
		{"a text", `[{repeat: {on: "aé😀", do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, ``, `["a","é","😀"]`},
		{"no number", `[{repeat: {on: 3, do: [{set: {name: x, value: 1}}]}}]`, `{x: "{{x}}"}`, ``, `{}`},
		{"nothing", `[{repeat: {on: "{{u}}", do: [{set: {name: x, value: 1}}]}}]`, `{x: "{{x}}"}`, ``, `{}`},
		{"an empty list", `[{repeat: {on: [], do: [{set: {name: x, value: 1}}]}}]`, `{x: "{{x}}"}`, ``, `{}`},
		{"until a number", `[{repeat: {until: 3, do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, ``, `[0,1,2]`},
		{"until a number in a text", `[{repeat: {until: "2", do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, ``, `[0,1]`},
		{"until no number", `[{repeat: {until: x, do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `{o: "{{o}}"}`, ``, `{}`},
		{"both", `[{repeat: {on: [a, b, c], until: 2, do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, ``, `["a","b"]`},
		{"both, and the list is shorter", `[{repeat: {on: [a], until: 2, do: [{set: {name: "o[]", value: "{{item}}"}}]}}]`, `"{{o}}"`, ``, `["a"]`},
		{"until a condition", `[{set: {name: n, value: 0}}, {repeat: {until: "{% {{n}} >= 3 %}", do: [{set: {name: n, value: "{% {{n}} + 1 %}"}}]}}]`, `"{{n}}"`, ``, `3`},
		{"until a condition that holds", `[{repeat: {on: [1], until: "{% 1 == 1 %}", do: [{set: {name: n, value: 1}}]}}]`, `{n: "{{n}}"}`, ``, `{}`},
		{"leaves no item", `[{repeat: {on: [a, b], do: []}}]`, `{item: "{{item}}", index: "{{$index}}"}`, ``, `{"index":1}`},
		{"gives back the item of before", `[{repeat: {on: [a, b], do: []}}]`, `"{{item}}"`, `{"item":{"x":1}}`, `{"x":1}`},
		{"in another one", `[{repeat: {on: [a, b], do: [{repeat: {on: [1, 2, 3], do: []}}, {set: {name: "o[]", value: "{{item}}{{$index}}"}}]}}]`, `"{{o}}"`, ``, `["a0","b1"]`},
		{"in another one that is left", `[{repeat: {on: [a, b], do: [{repeat: {on: [1, 2, 3], do: [{break: {scope: repeat}}]}}, {set: {name: "o[]", value: "{{item}}{{$index}}"}}]}}]`, `"{{o}}"`, ``, `["a0","b1"]`},
		{"in another one that fails", `[{repeat: {on: [a, b], do: [{try: {do: [{repeat: {on: [1, 2], do: [{nothing: {}}]}}]}}, {set: {name: "o[]", value: "{{item}}{{$index}}"}}]}}]`, `"{{o}}"`, ``, `["a0","b1"]`},
		{"sees the list as it was", `[{repeat: {on: "{{l}}", do: [{set: {name: "l[]", value: x}}]}}]`, `"{{l}}"`, `{"l":[1,2]}`, `[1,2,"x","x"]`},
		{"may change its item", `[{repeat: {on: "{{l}}", do: [{set: {name: item.x, value: 1}}, {set: {name: "o[]", value: "{{item}}"}}]}}]`, `["{{l}}", "{{o}}"]`, `{"l":[{"y":2}]}`, `[[{"y":2}],[{"y":2,"x":1}]]`},
		{"in batches", `[{repeat: {on: [a, b, c, d, e], batch: {size: 2}, do: [{set: {name: "o.{{item}}", value: "{{$index}}"}}]}}, {repeat: {on: [a, b, c, d, e], do: [{set: {name: "r[]", value: "{{o[{{item}}]}}"}}]}}]`, `["{{r}}", "{{item}}"]`, ``, `[[0,1,2,3,4],null]`},
		{"in batches with loops inside", `[{repeat: {on: [a, b], batch: {size: 2}, do: [{repeat: {on: [x, y], do: []}}, {set: {name: "o.{{item}}", value: "{{$index}}"}}]}}]`, `["{{o.a}}", "{{o.b}}"]`, ``, `[0,1]`},
		{"in batches that are left", `[{repeat: {until: 10, batch: {size: 2}, do: [{set: {name: "o[]", value: 1}}, {conditions: {"{{item}} == 2": [{break: {scope: repeat}}]}}]}}]`, `"{{o.length}}"`, ``, `4`},
		{"in batches that fail", `[{repeat: {until: 10, batch: {size: 2}, do: [{nothing: {}}]}}]`, ``, ``, `error: ObjectNotFoundError Automation not found`},
		{"with a pause", `[{repeat: {until: 2, batch: {interval: 1}, do: [{set: {name: "o[]", value: 1}}]}}]`, `"{{o.length}}"`, ``, `2`},
		{"refuses what is no list of instructions", `[{repeat: {until: 2, do: {set: {}}}}]`, ``, ``, `error: InvalidInstructionError must be a list`},
	})
}

// chunks is a stream that ends, with an error or not.
type chunks struct {
	left   []any
	err    error
	closed bool
}

func (s *chunks) Next(ctx context.Context) (any, bool, error) {
	if len(s.left) == 0 {
		return nil, false, s.err
	}
	item := s.left[0]
	s.left = s.left[1:]
	return item, true, ctx.Err()
}

func (s *chunks) Close() error { s.closed = true; return nil }

func TestRepeatOnAStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		do, want string
		err      error
		left     int
	}{
		{do: `{set: {name: "o[]", value: "{{item}}{{$index}}"}}`, want: `["a0","b1","c2"]`},
		{do: `{conditions: {"{{item}} == 'b'": [{break: {scope: repeat}}], default: [{set: {name: "o[]", value: "{{item}}"}}]}}`, want: `["a"]`, left: 1},
		{do: `{nothing: {}}`, want: `error: ObjectNotFoundError Automation`, left: 2},
		{do: `{set: {name: "o[]", value: 1}}`, want: `error: SvcError the connection`, err: machine.Fail(machine.Broke, "the connection broke")},
	} {
		source := &chunks{left: []any{"a", "b", "c"}, err: c.err}
		output, err := machinetest.Run(t, `{do: [{repeat: {on: "{{s}}", do: [`+c.do+`]}}], output: "{{o}}"}`, machine.Payload("s", source))
		expect(t, c.want, output, err)
		if !source.closed || len(source.left) != c.left {
			t.Errorf("%s: %+v", c.do, source)
		}
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"does all", `[{all: [{set: {name: a, value: 1}}, {set: {name: b, value: 2}}]}]`, `["{{a}}", "{{b}}"]`, ``, `[1,2]`},
		{"has a form with do", `[{all: {do: [{set: {name: a, value: 1}}, {set: {name: b, value: 2}}]}}]`, `["{{a}}", "{{b}}"]`, ``, `[1,2]`},
		{"computes nothing before", `[{all: [{repeat: {on: [1, 2], do: [{set: {name: "a[]", value: "{{item}}"}}]}}, {repeat: {on: [3, 4], do: [{set: {name: "b[]", value: "{{item}}"}}]}}]}]`, `["{{a}}", "{{b}}"]`, ``, `[[1,2],[3,4]]`},
		{"sees the item around it", `[{repeat: {on: [x, y], do: [{all: [{set: {name: "o.{{item}}", value: "{{$index}}"}}, {repeat: {on: [1], do: []}}]}, {set: {name: "l[]", value: "{{item}}"}}]}}]`, `["{{o}}", "{{l}}"]`, ``, `[{"x":0,"y":1},["x","y"]]`},
		{"goes on when one fails", `[{try: {do: [{all: [{nothing: {}}, {set: {name: a, value: 1}}]}]}}]`, `["{{a}}", "{{$error.name}}"]`, ``, `[1,"ObjectNotFoundError"]`},
		{"fails by the first", `[{all: [{set: {name: a.b, value: 1}}, {nothing: {}}]}]`, ``, `{"a":1}`, `error: InvalidInstructionError set`},
		{"is left when all are done", `[{all: [{break: {}}, {set: {name: a, value: 1}}]}, {set: {name: a, value: 2}}]`, `"{{a}}"`, ``, `1`},
		{"a failure goes before a break", `[{all: [{break: {}}, {nothing: {}}]}]`, ``, ``, `error: ObjectNotFoundError Automation`},
		{"does nothing", `[{all: []}]`, `"ok"`, ``, `"ok"`},
		{"refuses what is no list", `[{all: x}]`, ``, ``, `error: InvalidInstructionError must be a list`},
	})
}

// Branches work at the same time: each waits for the others.
func TestAllRunsBesideEachOther(t *testing.T) {
	t.Parallel()
	met := make(chan struct{}, 2)
	meet := machine.Instructions{"meet": machine.Simple(func(f *machine.Frame, _ *value.Object) (any, error) {
		met <- struct{}{}
		ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
		defer cancel()
		for len(met) < 2 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := f.Sleep(time.Millisecond); err != nil {
				return nil, err
			}
		}
		return len(met), nil
	})}
	if _, err := machinetest.Run(t, `do: [{all: [{meet: {}}, {meet: {}}]}]`, nil, meet); err != nil {
		t.Error(err)
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"catches", `[{try: {do: [{nothing: {}}, {set: {name: a, value: 1}}], catch: [{set: {name: e, value: "{{$error}}"}}]}}]`, `{a: "{{a}}", e: "{{e}}"}`, ``, `{"e":{"name":"ObjectNotFoundError","error":"ObjectNotFoundError","message":"Automation not found","details":{"automation":"nothing"}}}`},
		{"keeps the error afterwards", `[{try: {do: [{nothing: {}}], catch: []}}]`, `"{{$error.error}}"`, ``, `"ObjectNotFoundError"`},
		{"swallows without a catch", `[{try: {do: [{nothing: {}}]}}]`, `"{{$error.message}}"`, ``, `"Automation not found"`},
		{"has nothing to catch", `[{try: {do: [{set: {name: a, value: 1}}], catch: [{set: {name: a, value: 2}}]}}]`, `["{{a}}", "{{$error}}"]`, ``, `[1,null]`},
		{"does finally after success", `[{try: {do: [], finally: [{set: {name: a, value: 1}}]}}]`, `"{{a}}"`, ``, `1`},
		{"does finally after a catch", `[{try: {do: [{nothing: {}}], catch: [{set: {name: "a[]", value: 1}}], finally: [{set: {name: "a[]", value: 2}}]}}]`, `"{{a}}"`, ``, `[1,2]`},
		{"does finally when the catch fails", `[{try: {do: [{try: {do: [{nothing: {}}], catch: [{set: {name: x.y, value: 1}}], finally: [{set: {name: a, value: 2}}]}}]}}]`, `["{{a}}", "{{$error.name}}"]`, `{"x":1}`, `[2,"InvalidInstructionError"]`},
		{"does finally when it is left", `[{try: {do: [{break: {}}], catch: [{set: {name: c, value: 1}}], finally: [{set: {name: a, value: 2}}]}}, {set: {name: a, value: 3}}]`, `["{{a}}", "{{c}}"]`, ``, `[2,null]`},
		{"fails by finally", `[{try: {do: [], finally: [{nothing: {}}]}}]`, ``, ``, `error: ObjectNotFoundError Automation`},
		{"catches expressions", `[{try: {do: [{set: {name: a, value: "{% round({{x}}) %}"}}]}}]`, `"{{$error.name}}"`, ``, `"InvalidExpressionSyntax"`},
		{"catches instructions that cannot be read", `[{try: {do: [{set: {name: a, value: "{% 1 + %}"}}]}}]`, `["{{$error.name}}", "{{$error.details.expression}}"]`, ``, `["InvalidExpressionSyntax"," 1 + "]`},
		{"catches names that cannot be read", `[{try: {do: [{set: {name: a, value: "{{a.}}"}}]}}]`, `["{{$error.name}}", "{{$error.details.fullVariable}}"]`, ``, `["InvalidVariableNameError","a."]`},
	})
}

func TestBreak(t *testing.T) {
	t.Parallel()
	play(t, []scenario{
		{"leaves the automation", `[{break: {}}, {set: {name: a, value: 1}}]`, `{a: "{{a}}"}`, ``, `{}`},
		{"computes the output", `[{set: {name: a, value: 1}}, {break: {}}]`, `"{{a}}"`, ``, `1`},
		{"leaves from conditions and repeats", `[{repeat: {until: 3, do: [{conditions: {'{{item}} == 1': [{break: {scope: automation}}]}}, {set: {name: "a[]", value: "{{item}}"}}]}}, {set: {name: a, value: none}}]`, `"{{a}}"`, ``, `[0]`},
		{"leaves the nearest repeat", `[{repeat: {until: 3, do: [{conditions: {'{{item}} == 1': [{break: {scope: repeat}}]}}, {set: {name: "a[]", value: "{{item}}"}}]}}, {set: {name: "a[]", value: end}}]`, `"{{a}}"`, ``, `[0,"end"]`},
		{"outside of a repeat leaves the automation", `[{break: {scope: repeat}}, {set: {name: a, value: 1}}]`, `{a: "{{a}}"}`, ``, `{}`},
		{"an unknown scope leaves the automation", `[{break: {scope: "{{s}}"}}, {set: {name: a, value: 1}}]`, `{a: "{{a}}"}`, `{"s":"x"}`, `{}`},
		{"gives a payload", `[{break: {payload: {x: "{{a}}"}}}]`, `"other"`, `{"a":[1]}`, `{"x":[1]}`},
		{"gives a payload without an output", `[{break: {payload: text}}]`, ``, ``, `"text"`},
		{"all at the top", `[{break: {scope: all}}]`, `"o"`, ``, `"o"`},
		{"cannot be without parameters", `[{break: }]`, ``, ``, `error: InvalidInstructionError null payload`},
	})
}

func TestBreakInACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ leave, want string }{
		{`{}`, `{"sub":"sub output","after":1}`},
		{`{payload: {p: 1}}`, `{"sub":{"p":1},"after":1}`},
		{`{scope: repeat}`, `{"sub":"sub output","after":1}`},
		{`{scope: all}`, `{}`},
		{`{scope: all, payload: {p: 1}}`, `{"p":1}`},
	} {
		bench := machinetest.New(t)
		bench.Add("sub", `{do: [{break: `+c.leave+`}], output: sub output}`)
		bench.Add("main", `
do:
  - try: {do: [{repeat: {until: 1, do: [{sub: {output: s}}]}}], catch: [{set: {name: caught, value: 1}}]}
  - set: {name: after, value: 1}
output: {sub: "{{s}}", after: "{{after}}", caught: "{{caught}}"}`)
		result := bench.Execute("main", nil)
		if got := machinetest.JSON(result.Output); result.Err != nil || got != c.want {
			t.Errorf("%s: %s instead of %s, %v", c.leave, got, c.want, result.Err)
		}
	}
}
