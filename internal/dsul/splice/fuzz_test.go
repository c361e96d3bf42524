package splice_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/splice"
)

// exotic holds texts with all that YAML allows and nobody expects.
func exotic() []string {
	return []string{
		"", "# c", "---", "--- # c\n...\n# d\n", "\uFEFFa: 1", "a: 1\r\nb:\r\n- x\r\n", "a: |+\n  x\n\n\nb: 1\n", "a: >2-\n    x\n   y\n",
		"? a\n: b\n? c\n", "? - k\n  - l\n: - m\n", "? |\n  key\n: v\n", "{a, b: , ? c : d, \"e\":1, 'f': [x: y, {g: 1}: h, ? z]}", "[[], {}, [a, ], ]",
		"base: &b\n  x: 1\nuse: *b\nm:\n  <<: *b\n  y: 2\nn: {<<: [*b, {z: 3}], x: 4}\n", "a: &x 1\n*x : 2\n", "&k a: 1\n!!str b: &l\n  &m c: 2\n", "&m\n&k a: 1\n", "- &k a: 1\n  b: 2\n- !!str : 1\n", "&r\na: 1\n", "--- &r !!map\na: 1\n...\n",
		"a: !!str 12\nb: !t x\nc: !<tag:x> y\nd: ! z\ne: !!binary aGk=\n", "%YAML 1.1\n%TAG !e! tag:e:\n---\na: !e!x 1\n", "- - - a\n    - b\n  - c\n-\n- \n",
		"a: 'x\n  # y\n\n  z'\nb: \"p \\\n  q\"\nc: r\n s\n t\n", "a:\n  # c1\n  b: 1 # c2\n\n  # c3\n\nd:\n# c4\n- e # c5\n# c6\n- f\n", "  a: 1\n  b:\n     - c\n",
		"{\n  \"a\": [1, 2],\n  \"b\": {\"c\": null}\n}\n", "{\"a\":1,\"conditions\":{\"x\":1,\"y\":2}}", "conditions:\n  # one\n  a: 1\n  # two\n  b: 2\n", "plain", "'quoted'", "|\n text",
		"a: # c\n  - b\n", "a:\n\n\n  - b\n\n\n  - c\n\n\n", "a:    \n  b  :   c   #d\n", "\"a\\tb\": \"\\u2028\"\n", "a: \u2028b\n", "key: [\n a, # one\n b # two\n]\n", "a: <<\n<<: {b: 1}\n",
		"a: &a\nb: *a\n", "- &a a\n- *a\n- &a b\n- *a\n", "é: ü\n\"日本\": [\"語\", 本]\n", "a:\n\t- b\n", "- a:\n  - b\n  c:\n  - d\n", "a: 1 \n... \n", "!!set {a, b}", "a: !!null\nb: ~\n", "{\"a\": \"\\ud83d\\ude00\\/\", \"b\": [1e999]}",
	}
}

// meaning writes what a node means, independently of the code under test: aliases followed, merge keys applied, keys
// sorted.
func meaning(n *yaml.Node) string {
	var out strings.Builder
	writeMeaning(&out, expandable(n))
	return out.String()
}

func writeMeaning(out *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		out.WriteByte('[')
		for _, item := range n.Content {
			writeMeaning(out, item)
			out.WriteByte(',')
		}
		out.WriteByte(']')
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			var part strings.Builder
			if n.Content[i].Kind == yaml.ScalarNode {
				fmt.Fprintf(&part, "%q:", n.Content[i].Value)
			} else {
				writeMeaning(&part, n.Content[i])
			}
			writeMeaning(&part, n.Content[i+1])
			parts = append(parts, part.String())
		}
		slices.Sort(parts)
		fmt.Fprintf(out, "{%s}", strings.Join(parts, ","))
	default:
		fmt.Fprintf(out, "%s %q", n.ShortTag(), n.Value)
	}
}

func FuzzReplace(f *testing.F) {
	for i, text := range exotic() {
		all := exotic()
		f.Add([]byte(text), "a/b/0", []byte(all[(i+7)%len(all)]))
		f.Add([]byte(text), "a", []byte("x"))
		f.Add([]byte(text), "0", []byte("{x: [1, two]}"))
		f.Add([]byte(text), "", []byte(all[(i+13)%len(all)]))
	}
	f.Fuzz(func(t *testing.T, text []byte, path string, with []byte) {
		var v yaml.Node
		if len(text) > 4096 || len(with) > 1024 || yaml.Unmarshal(with, &v) != nil {
			return
		}
		var parts []string
		if path != "" {
			parts = strings.Split(path, "/")
		}
		right(t, text, &v)
		out, err := splice.Set(text, parts, &v)
		check(t, text, out, err)
		if err == nil {
			if got := lookup(parsed(t, out), parts); got == nil || !splice.Equal(got, &v) {
				t.Fatalf("%q is not set in\n%q", path, out)
			}
		}
		out, err = splice.Delete(text, parts)
		check(t, text, out, err)
	})
}

// parsed is the tree of a text, with an empty document for an empty text.
func parsed(t *testing.T, text []byte) *yaml.Node {
	t.Helper()
	return expandable(parse(t, text))
}

func expandable(root *yaml.Node) *yaml.Node {
	if root.Kind == 0 {
		return scalarNode("!!null", "")
	}
	return expand(root)
}

func check(t *testing.T, text, out []byte, err error) {
	t.Helper()
	if err != nil {
		if strings.Contains(err.Error(), "cannot be written") {
			t.Fatalf("%v: %q", err, text)
		}
		return
	}
	parse(t, out)
}

// right replaces a whole value, and compares with code of its own what came out.
func right(t *testing.T, text []byte, want *yaml.Node) {
	t.Helper()
	out, err := splice.Replace(text, want)
	check(t, text, out, err)
	if err != nil {
		return
	}
	if got := parse(t, out); !splice.Equal(got, want) {
		t.Fatalf("%q became %q", text, out)
	} else if !strings.Contains(string(text), "!") && !strings.Contains(meaning(want), "!!float") && !strings.Contains(meaning(want), "!!int") &&
		!strings.Contains(meaning(want), "!!timestamp") && normal(meaning(got)) != normal(meaning(want)) {
		t.Fatalf("%q became %q:\n%s\n%s", text, out, meaning(got), meaning(want))
	}
	again, err := splice.Replace(out, want)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("%q is not what it was: %q (%v)", again, out, err)
	}
}

// normal leaves out how null, true and false are spelled.
func normal(meaning string) string {
	return strings.NewReplacer(`!!merge`, `!!str`, `!!null "~"`, `!!null ""`, `!!null "null"`, `!!null ""`, `!!null "Null"`, `!!null ""`, `!!null "NULL"`, `!!null ""`,
		`"True"`, `"true"`, `"TRUE"`, `"true"`, `"False"`, `"false"`, `"FALSE"`, `"false"`).Replace(meaning)
}
