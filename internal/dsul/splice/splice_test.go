package splice_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/splice"
)

// gone stands for a value that is deleted.
const gone = "!gone"

func TestEdits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, path, value, want string }{
		"scalar keeps its comment":       {"a: 1 # one\nb: 2\n", "a", "2", "a: 2 # one\nb: 2\n"},
		"single quotes stay":             {"a: 'it''s'\n", "a", "that's", "a: 'that''s'\n"},
		"double quotes stay":             {"a: \"x\"   # c\n", "a", "'y z'", "a: \"y z\"   # c\n"},
		"what needs quotes gets them":    {"a: x\n", "a", "'{{y}}'", "a: \"{{y}}\"\n"},
		"quotes as the text has them":    {"a: 'x y'\nb: 1\n", "b", "'{{y}}'", "a: 'x y'\nb: '{{y}}'\n"},
		"strings stay strings":           {"a: x\n", "a", "'012'", "a: \"012\"\n"},
		"numbers too large to hold":      {"v: 1e999\n", "b", "[1]", "v: 1e999\nb:\n  - 1\n"},
		"digits stay":                    {"v: 1.1\n", "v", "1.10", "v: 1.10\n"},
		"several lines become a block":   {"a: x # c\nb: 2\n", "a", `"p\nq\n"`, "a: | # c\n  p\n  q\nb: 2\n"},
		"a block stays a block":          {"a: |  # c\n    p\n    q\n\nb: 2\n", "a", `"r\n"`, "a: |  # c\n  r\n\nb: 2\n"},
		"a block with spaces first":      {"a: x\n", "a", `"  p\nq"`, "a: |2-\n    p\n  q\n"},
		"a block at the end":             {"a: x", "a", `"p\nq\n"`, "a: |\n  p\n  q\n"},
		"a block becomes a scalar":       {"a: >- # c\n  p\n  q\nb: 2\n", "a", "5", "a: 5 # c\nb: 2\n"},
		"several lines become one":       {"a: p\n  q\nb: \"r\n  s\"\n", "a", "5", "a: 5\nb: \"r\n  s\"\n"},
		"new key at the end":             {"a: 1\nb:\n  c: 1\n", "d", "[1, {x: 2, z: [3]}]", "a: 1\nb:\n  c: 1\nd:\n  - 1\n  - x: 2\n    z:\n      - 3\n"},
		"new key as the text indents":    {"a:\n    b: 1\nl:\n- x\n", "a.c", "{d: [1]}", "a:\n    b: 1\n    c:\n        d:\n        - 1\nl:\n- x\n"},
		"new key before what follows":    {"a:\n  b: 1\n\n# about c\nc: 2\n", "a.d", "3", "a:\n  b: 1\n  d: 3\n\n# about c\nc: 2\n"},
		"new key behind inner comments":  {"a:\n  b:\n    c: 1\n    # inner\nd: 2\n", "a.e", "3", "a:\n  b:\n    c: 1\n    # inner\n  e: 3\nd: 2\n"},
		"new key without a last line":    {"a: 1", "b", "2", "a: 1\nb: 2"},
		"new keys on the way":            {"a: 1\n", "b.c.d", "2", "a: 1\nb:\n  c:\n    d: 2\n"},
		"new key in an empty value":      {"a: # c\nb: 2\n", "a.c", "1", "a: # c\n  c: 1\nb: 2\n"},
		"new key in an empty item":       {"-\n- b\n", "0.c", "1", "- c: 1\n- b\n"},
		"new key in {}":                  {"a: {}\nb: 2\n", "a.c", "1", "a:\n  c: 1\nb: 2\n"},
		"new item":                       {"a:\n  - x # c\n  # d\nb: 2\n", "a.-", "y", "a:\n  - x # c\n  - y\n  # d\nb: 2\n"},
		"new item in a list of lists":    {"- - a\n  - b\n- c\n", "0.2", "[x]", "- - a\n  - b\n  - - x\n- c\n"},
		"scalar becomes mapping":         {"a: x # c\nb: 2\n", "a", "{p: 1}", "a: # c\n  p: 1\nb: 2\n"},
		"item becomes mapping":           {"- x\n- b\n", "0", "{p: 1, q: 2}", "- p: 1\n  q: 2\n- b\n"},
		"item with comment does too":     {"- x # c\n- b\n", "0", "{p: 1}", "- # c\n  p: 1\n- b\n"},
		"mapping becomes scalar":         {"a: # c\n  # d\n  p: 1 # e\n  # f\nb: 2\n", "a", "x", "a: x # c\nb: 2\n"},
		"value on its own line":          {"a:\n  x # c\nb: 2\n", "a", "y", "a:\n  y # c\nb: 2\n"},
		"mapping on its own line":        {"a:\n  \"x\"\nb: 2\n", "a", "{y: 1}", "a:\n  y: 1\nb: 2\n"},
		"key goes with its comments":     {"a: 1\n\n# about\n# b\nb: 2 # two\nc: 3\n", "b", gone, "a: 1\n\nc: 3\n"},
		"detached comments stay":         {"a: 1\n# detached\n\nb: 2\nc: 3\n", "b", gone, "a: 1\n# detached\n\nc: 3\n"},
		"comments of the text stay":      {"# licence\na: 1\nb: 2\n", "a", gone, "# licence\nb: 2\n"},
		"first of an item":               {"- a: 1\n  b: 2\n- c\n", "0.a", gone, "- b: 2\n- c\n"},
		"first of an item, comments":     {"- a: 1\n  # about b\n  b: 2\n- c\n", "0.a", gone, "-\n  # about b\n  b: 2\n- c\n"},
		"last key":                       {"a:\n  b: 1\nc: 2\n", "a.b", gone, "a: {}\nc: 2\n"},
		"last key of the text":           {"# c\na: 1\n# d\n", "a", gone, "# c\n{}\n# d\n"},
		"last line":                      {"a: 1\nb: 2", "b", gone, "a: 1\n"},
		"absent key":                     {"a: 1\n", "b.c", gone, "a: 1\n"},
		"in a flow":                      {"a: {b: 1, c: [x, y]}  # d\n", "a.c.1", "'z, é'", "a: {b: 1, c: [x, \"z, é\"]}  # d\n"},
		"new in a flow":                  {"a: {b: 1, c: 2,}\n", "a.d", "{e: null}", "a: {b: 1, c: 2, d: {e: null},}\n"},
		"new in a flow of several lines": {"a: [\n  b, # one\n  c # two\n]\n", "a.-", "d", "a: [\n  b, # one\n  c, # two\n  d\n]\n"},
		"out of a flow":                  {"[a, b, c]", "1", gone, "[a, c]"},
		"last out of a flow":             {"[a, b, c]", "2", gone, "[a, b]"},
		"first out of a flow":            {"{a: 1, b: 2}", "a", gone, "{b: 2}"},
		"with comments out of a flow":    {"[\n  a, # one\n  b # two\n]\n", "1", gone, "[\n  a, # one\n   # two\n]\n"},
		"value of a lone key in a flow":  {"{a, b: 1}", "a", "2", "{a: 2, b: 1}"},
		"pair in a flow":                 {"[a: 1, b]", "0.a", "2", "[a: 2, b]"},
		"explicit keys":                  {"? a\n: b\n? c\n", "c", "d", "? a\n: b\n? c\n: d\n"},
		"explicit key with a mapping":    {"? a\n: b\n", "a", "{c: 1}", "? a\n:\n  c: 1\n"},
		"carriage returns":               {"a: 1\r\nb: 2\r\n", "a", "[x, {y: \"p\\nq\"}]", "a:\r\n  - x\r\n  - y: |-\r\n      p\r\n      q\r\nb: 2\r\n"},
		"byte order mark":                {"\uFEFFa: 1\nb: 2\n", "a", gone, "\uFEFFb: 2\n"},
		"empty text":                     {"", "a.b", "1", "a:\n  b: 1\n"},
		"text of comments":               {"# c", "a", "1", "# c\na: 1"},
		"empty document":                 {"--- # c\n# d\n...\n# e\n", "a", "1", "--- # c\n# d\na: 1\n...\n# e\n"},
		"markers":                        {"%YAML 1.1\n---\na: 1\n...\n", "b", "2", "%YAML 1.1\n---\na: 1\nb: 2\n...\n"},
		"root becomes another":           {"--- x # c\n", "", "{a: 1}", "--- # c\na: 1\n"},
		"JSON":                           {"{\n  \"a\": 1,\n  \"b\": []\n}\n", "c", "{d: [1, é], e: ~}", "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": {\n    \"d\": [\n      1,\n      \"é\"\n    ],\n    \"e\": null\n  }\n}\n"},
		"JSON on one line":               {`{"a": 1, "b": {"c": 2}}`, "b.d", "x", `{"a": 1, "b": {"c": 2, "d": "x"}}`},
		"JSON without spaces":            {`{"a":1,"b":{"c":2}}`, "b", "{x: [1, 2]}", `{"a":1,"b":{"x":[1,2]}}`},
		"JSON with tabs":                 {"{\n\t\"a\": [\n\t\t1\n\t]\n}\n", "a.-", "{b: x}", "{\n\t\"a\": [\n\t\t1,\n\t\t{\n\t\t\t\"b\": \"x\"\n\t\t}\n\t]\n}\n"},
		"JSON that YAML refuses":         {"{\"a\": \"\\/\\ud83d\\ude00\", \"" + strings.Repeat("k", 2000) + "\": [1e999]}", "b", "1", "{\"a\": \"\\/\\ud83d\\ude00\", \"" + strings.Repeat("k", 2000) + "\": [1e999], \"b\": 1}"},
		"JSON of nothing":                {"{}", "a", "{b: 1}", "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		"anchor keeps its users":         {"a: &x {p: 1}\nb: *x\nc:\n  <<: *x\n  q: 2\n", "a.p", "5", "a: &x {p: 5}\nb:\n  p: 1\nc:\n  <<: *x\n  q: 2\n  p: 1\n"},
		"user of an anchor":              {"a: &x {p: 1}\nb: *x # c\nc: *x\n", "b.p", "5", "a: &x {p: 1}\nb: # c\n  p: 5\nc: *x\n"},
		"merged key":                     {"a: &x {p: 1}\nc:\n  <<: *x\n  q: 2\n", "c.p", "5", "a: &x {p: 1}\nc:\n  <<: *x\n  q: 2\n  p: 5\n"},
		"merged key goes":                {"a: &x {p: 1, r: 3}\nc:\n  <<: *x\n  q: 2\n", "c.p", gone, "a: &x {p: 1, r: 3}\nc:\n  q: 2\n  r: 3\n"},
		"anchor goes":                    {"a: &x {p: 1}\nb: *x\nc: {<<: *x}\n", "a", gone, "b:\n  p: 1\nc: {p: 1}\n"},
		"anchored scalar":                {"a: &x 1\nb: [*x, 2]\n", "a", "7", "a: &x 7\nb: [1, 2]\n"},
		"tag goes":                       {"a: !!str 12\nb: 1\n", "a", "[x]", "a:\n  - x\nb: 1\n"},
		"key that looks like a merge":    {"a: 1\n", "<<", "x", "a: 1\n\"<<\": x\n"},
		"number as a key":                {"1: a\n2: b\n", "1", "c", "1: c\n2: b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var path []string
			if test.path != "" {
				path = strings.Split(test.path, ".")
			}
			var out []byte
			var err error
			if test.value == gone {
				out, err = splice.Delete([]byte(test.text), path)
			} else {
				out, err = splice.Set([]byte(test.text), path, parse(t, []byte(test.value)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReplaceMatchesItems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want, result string }{
		"by what they are":     {"- a # one\n- b # two\n- c # three\n", "[b, c, d]", "- b # two\n- c # three\n- d\n"},
		"by their slug":        {"- slug: x # x\n  v: 1 # one\n- slug: y # y\n  v: 2 # two\n", "[{slug: y, v: 3}]", "- slug: y # y\n  v: 3 # two\n"},
		"by their keys":        {"- set: {v: 1} # s\n- fetch: {v: 2} # f\n- emit: {v: 3} # e\n", "[{set: {v: 1}}, {emit: {v: 4}}]", "- set: {v: 1} # s\n- emit: {v: 4} # e\n"},
		"by their place":       {"- 1 # one\n- 2 # two\n", "[1, 3]", "- 1 # one\n- 3 # two\n"},
		"moved with comments":  {"# first\n\n# about a\n- a # one\n- b\n- c\n", "[b, c, a]", "# first\n\n- b\n- c\n# about a\n- a # one\n"},
		"in the middle":        {"- a\n- c\n", "[a, b, c]", "- a\n- b\n- c\n"},
		"at the front":         {"a:\n  # about x\n  - x\n", "{a: [w, x]}", "a:\n  - w\n  # about x\n  - x\n"},
		"front of a flow":      {"[b, c]", "[a, b, c]", "[a, b, c]"},
		"front of a nested":    {"- - b\n  - c\n", "[[a, b, c]]", "- - a\n  - b\n  - c\n"},
		"order does not count": {"b: 1 # b\na: 2 # a\n", "{a: 2, c: 3, b: 1}", "b: 1 # b\na: 2 # a\nc: 3\n"},
		"order of conditions":  {"conditions:\n  # about b\n  b: 1 # b\n\n  # about a\n  a: 2 # a\nx: 1\n", "{conditions: {a: 3, c: 4, b: 1}, x: 1}", "conditions:\n\n  # about a\n  a: 3 # a\n  c: 4\n  # about b\n  b: 1 # b\nx: 1\n"},
		"place in conditions":  {"conditions:\n  a: 1 # a\n  b: 2 # b\n", "{conditions: {z: 0, a: 1, c: 3, b: 2}}", "conditions:\n  z: 0\n  a: 1 # a\n  c: 3\n  b: 2 # b\n"},
		"all anchors changed":  {"a: &x {p: 1}\nb: *x\n", "{a: {p: 2}, b: {p: 2}}", "a: &x {p: 2}\nb: *x\n"},
		"hexadecimal":          {"a: 0x1F\nb: .5\nc: 1\n", "{a: 31, b: 0.5, c: 2}", "a: 0x1F\nb: .5\nc: 2\n"},
		"dates are strings":    {"a: 2001-01-01\nb: 1\n", "{a: '2001-01-01', b: 2}", "a: 2001-01-01\nb: 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := splice.Replace([]byte(test.text), parse(t, []byte(test.want)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.result, string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where lines cannot be put or taken without changing what stands beside them, that is written anew as well, and no more.
func TestSmallestNodeIsWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, path, value, want string }{
		"a block that ends with the text": {"x: 1 # c\na: |\n  p\n  q", "b", "1", "x: 1 # c\na: |-\n  p\n  q\nb: 1"},
		"a block that keeps what follows": {"a: |+ # c\n  p\nb: 1\n\nc: 2 # d\n", "b", gone, "a: | # c\n  p\n\nc: 2 # d\n"},
		"an alias that is a key":          {"a: &x p\nb: # b\n  *x : 1\nc: 2 # c\n", "a", "q", "a: &x q\nb: # b\n  p: 1\nc: 2 # c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out []byte
			var err error
			if test.value == gone {
				out, err = splice.Delete([]byte(test.text), []string{test.path})
			} else {
				out, err = splice.Set([]byte(test.text), []string{test.path}, parse(t, []byte(test.value)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// bomb is a small text whose value is endless once its aliases are followed.
func bomb() string {
	var out strings.Builder
	out.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		aliases := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i+1, i+1, aliases)
	}
	return out.String()
}

func TestRefused(t *testing.T) {
	t.Parallel()
	bomb := bomb()
	for name, text := range map[string]string{
		"not YAML": "a: [", "two documents": "a: 1\n---\nb: 2\n", "twice": "a: 1\n\"a\": 2\n", "merged twice": "<<: {a: 1}\n<<: {b: 1}\n", "merged scalar": "<<: 1\n",
		"bomb": bomb, "holds itself": "a: &a [*a]\n", "zero byte": "a: \"\x00\"\n", "not UTF-8": "a: \xff\n", "UTF-16": "\xff\xfea\x00:\x00", "deep": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		if out, err := splice.Set([]byte(text), []string{"z"}, scalarNode("!!str", "x")); err == nil {
			t.Errorf("%s was edited: %.80q", name, out)
		}
	}
	if _, err := splice.Replace([]byte("a: 1"), parse(t, []byte(bomb))); err == nil {
		t.Error("a bomb was written")
	}
	if _, err := splice.Replace([]byte("a: 1"), scalarNode("!!str", "\xff")); err == nil {
		t.Error("what is not UTF-8 was written")
	}
	for _, path := range []string{"a/b", "l/x", "l/2", "l/-1", "l/01", "m/l/0/x", "\xff"} {
		if _, err := splice.Set([]byte("a: x\nl: [y]\nm: {l: [z]}\n"), strings.Split(path, "/"), scalarNode("!!str", "x")); !errors.Is(err, splice.ErrPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestEmptyTextIsFilled(t *testing.T) {
	t.Parallel()
	out, err := splice.Replace(nil, parse(t, []byte(`{name: Hello, "1": "2", do: [{set: {name: x, value: "{{y}}"}}, [], {}], text: "a\nb\n", none: null, "a: b": 'no', conditions: {z: 1, a: 2}}`)))
	want := "name: Hello\n\"1\": \"2\"\ndo:\n  - set:\n      name: x\n      value: \"{{y}}\"\n  - []\n  - {}\ntext: |\n  a\n  b\nnone: null\n\"a: b\": \"no\"\nconditions:\n  z: 1\n  a: 2\n"
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		a, b string
		same bool
	}{
		{"a: &x [1]\nb: *x", "{b: [1], a: [1]}", true},
		{"conditions: {a: 1, b: 2}", "conditions: {b: 2, a: 1}", false},
		{"conditions: [{a: 1, b: 2}]", "conditions: [{b: 2, a: 1}]", true},
		{"1.10", "1.1", false},
		{"0x10", "16", true},
		{"no", "'no'", true},
		{"1", "'1'", false},
		{"1: a", "'1': a", true},
		{"~", "null", true},
		{"!t a", "a", false},
		{"<<: {a: 1}\nb: 2", "{b: 2, a: 1}", true},
		{"a: &a [*a]", "a: &a [*a]", false},
	} {
		if got := splice.Equal(parse(t, []byte(pair.a)), parse(t, []byte(pair.b))); got != pair.same {
			t.Errorf("%q and %q: %v", pair.a, pair.b, got)
		}
	}
}

// automation is a text of so many bytes, with comments, as people write them.
func automation(size int) []byte {
	var out bytes.Buffer
	out.WriteString("# A workspace\nname: Demo\ndo:\n")
	for i := 0; out.Len() < size; i++ {
		fmt.Fprintf(&out, "  # step %d\n  - set:\n      name: v%d # named\n      value: '{{x%d}}'\n  - fetch: {url: \"https://example.com/%d\", output: r%d}\n", i, i, i, i, i)
		fmt.Fprintf(&out, "  - conditions:\n      '{{r%d}} > 1':\n        - emit:\n            event: e%d\n            payload: |\n              line\n              another\n      default: []\n\n", i, i)
	}
	return out.Bytes()
}

func BenchmarkSet(b *testing.B) {
	for name, size := range map[string]int{"30KB": 30 << 10, "1MB": 1 << 20} {
		text := automation(size)
		path := []string{"do", itoa(size / 1000), "changed"}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := splice.Set(text, path, scalarNode("!!str", "x")); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parse", func(b *testing.B) { // the reference: what reading the text alone takes
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var root yaml.Node
				if err := yaml.Unmarshal(text, &root); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
