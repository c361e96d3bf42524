package compare_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"atelier/internal/dsul/compare"
	"atelier/internal/dsul/splice"
)

func parse(t rapid.TB, text string) *yaml.Node {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return &root
}

// told writes changes one a line.
func told(changes []compare.Change) string {
	var out strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&out, "%s %s", c.Kind, c.Path)
		if c.From != nil {
			fmt.Fprintf(&out, " from %s", c.From)
		}
		if c.To != nil {
			fmt.Fprintf(&out, " to %s", c.To)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to, want string }{
		"same in another style": {"a: [1, 'x']\nb: {c: d}\n", "b:\n  c: \"d\"\na:\n- 1\n- x\n", ""},
		"scalars":               {"a: 1\nb: x\nc: 1.10", "a: 2\nb: true\nc: 1.1", "changed a from 1 to 2\nchanged b from \"x\" to true\nchanged c from 1.10 to 1.1\n"},
		"keys":                  {"a: 1\nb: {c: 1}", "b: {d: <&>}\n", "added b.d to \"<&>\"\nremoved b.c from 1\nremoved a from 1\n"},
		"what a value is":       {"a: {b: 1, c: 2}", "a: [1]", "changed a from {\"b\":1,\"c\":2} to [1]\n"},
		"odd keys":              {"a.b: {'x]': 1, '': 1, 'q\"': 1, 'a b': 1}", "a.b: {}", "removed [\"a.b\"][\"x]\"] from 1\nremoved [\"a.b\"][\"\"] from 1\nremoved [\"a.b\"][\"q\\\"\"] from 1\nremoved [\"a.b\"].a b from 1\n"},
		"items by place":        {"a: [1, 2, 3, 4]", "a: [1, 3, 9, 5]", "removed a[1] from 2\nchanged a[2] from 4 to 9\nadded a[3] to 5\n"},
		"instructions": {
			"do:\n- set: {name: x, value: 1}\n- fetch: {url: a}\n- emit: {event: e}", "do:\n- set: {name: x, value: 2}\n- emit: {event: f}",
			"changed do[0].set.value from 1 to 2\nremoved do[1] from {\"fetch\":{\"url\":\"a\"}}\nchanged do[1].emit.event from \"e\" to \"f\"\n",
		},
		"items by slug":       {"a: [{slug: x, v: 1}, {slug: y, v: 2}]", "a: [{slug: z}, {slug: y, v: 3}]", "added a[slug=z] to {\"slug\":\"z\"}\nchanged a[slug=y].v from 2 to 3\nremoved a[slug=x] from {\"slug\":\"x\",\"v\":1}\n"},
		"items by odd name":   {"a: [{name: 'x]', v: 1}]", "a: [{name: 'x]', v: 2}]", "changed a[name=\"x]\"].v from 1 to 2\n"},
		"items by id":         {"[{id: 1, name: a}, {id: 2, name: a}]", "[{id: 1, name: b}, {id: 2, name: a}]", "changed [id=1].name from \"a\" to \"b\"\n"},
		"a moved item":        {"a: [{id: x}, {id: y}, {id: z}]", "a: [{id: y}, {id: z}, {id: x}]", "removed a[id=x] from {\"id\":\"x\"}\nadded a[id=x] to {\"id\":\"x\"}\n"},
		"a name twice":        {"a: [{name: x, v: 1}, {name: x, v: 2}]", "a: [{name: x, v: 1}, {name: x, v: 3}]", "changed a[1].v from 2 to 3\n"},
		"order of conditions": {"conditions: {b: 1, a: 2, c: 3}", "conditions: {a: 2, b: 4, d: 5}", "changed conditions from {\"b\":1,\"a\":2,\"c\":3} to {\"a\":2,\"b\":4,\"d\":5}\nchanged conditions.b from 1 to 4\nadded conditions.d to 5\nremoved conditions.c from 3\n"},
		"conditions in order": {"conditions: {b: 1, a: 2}", "conditions: {c: 0, b: 1, a: 2}", "added conditions.c to 0\n"},
		"order elsewhere":     {"x: {b: 1, a: {c: 1, d: 2}}", "x: {a: {d: 2, c: 1}, b: 1}", ""},
		"aliases and merges":  {"a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}", "a: {k: 1}\nb: {k: 2}\nc: {k: 1, l: 2}", "changed b.k from 1 to 2\n"},
		"whole document":      {"a", "[b]", "changed  from \"a\" to [\"b\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, told(compare.Keys(parse(t, test.from), parse(t, test.to)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAbsentDocuments(t *testing.T) {
	t.Parallel()
	document := parse(t, "b: 1\na: 2\n")
	for want, got := range map[string][]compare.Change{
		"added  to {\"b\":1,\"a\":2}\n":     compare.Keys(nil, document),
		"removed  from {\"b\":1,\"a\":2}\n": compare.Keys(document, nil),
		"":                                  compare.Keys(nil, nil),
	} {
		if told(got) != want {
			t.Errorf("%q is not %q", told(got), want)
		}
	}
}

func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for _, text := range []string{bomb.String(), "a: &a [*a]", "a: 1\na: 2"} {
		changes := compare.Keys(parse(t, text), parse(t, "a: 1"))
		if len(changes) != 1 || changes[0].Kind != compare.Changed || !json.Valid(changes[0].From) {
			t.Errorf("%.40q: %.200s", text, told(changes))
		}
	}
}

// There are changes exactly when the documents do not mean the same, and all that is told is JSON.
func TestKeysTellEveryDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := document(3).Draw(t, "from"), document(3).Draw(t, "to")
		changes := compare.Keys(from, to)
		if same := splice.Equal(from, to); same != (len(changes) == 0) {
			t.Fatalf("same: %v, but\n%s", same, told(changes))
		}
		for _, c := range changes {
			if c.From != nil && !json.Valid(c.From) || c.To != nil && !json.Valid(c.To) {
				t.Fatalf("%s is not JSON", told([]compare.Change{c}))
			}
		}
		if len(compare.Keys(from, from)) > 0 {
			t.Fatal("a document differs from itself")
		}
	})
}

func document(depth int) *rapid.Generator[*yaml.Node] {
	return rapid.Custom(func(t *rapid.T) *yaml.Node {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind < 2 || depth == 0:
			return &yaml.Node{Kind: yaml.ScalarNode, Value: rapid.SampledFrom([]string{"1", "2", "x", "true", "null"}).Draw(t, "scalar")}
		case kind < 4:
			n := &yaml.Node{Kind: yaml.MappingNode}
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"conditions", "slug", "id", "name", "a"}), 0, 4, rapid.ID).Draw(t, "keys")
			for _, key := range keys {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, document(depth-1).Draw(t, "value"))
			}
			return n
		default:
			return &yaml.Node{Kind: yaml.SequenceNode, Content: rapid.SliceOfN(document(depth-1), 0, 4).Draw(t, "items")}
		}
	})
}

func long(format string, from int) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range 5000 {
		var item yaml.Node
		_ = yaml.Unmarshal(fmt.Appendf(nil, format, (from+i*7919)%5003, from+i), &item)
		list.Content = append(list.Content, item.Content[0])
	}
	return list
}

// Lists of five thousand items that are all different, in the worst of orders.
func BenchmarkKeys(b *testing.B) {
	for name, format := range map[string]string{"named": "{slug: a%d, v: %d}", "plain": "{v%d: %d}", "alike": "{v: [%[1]d, x], w: %[2]d}"} {
		from, to := long(format, 1), long(format, 2500)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				compare.Keys(from, to)
			}
		})
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for want, path := range map[string][]string{
		"": nil, "a": {"a"}, "do[2].set": {"do", "2", "set"}, "[0]": {"0"}, `a["b.c"]`: {"a", "b.c"}, "a.01": {"a", "01"}, `a[""]`: {"a", ""},
	} {
		if got := compare.Path(path); got != want {
			t.Errorf("%q is %q, not %q", path, got, want)
		}
	}
}
