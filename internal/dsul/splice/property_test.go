package splice_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"atelier/internal/dsul/splice"
)

// parse reads a text, JSON as JSON.
func parse(t rapid.TB, text []byte) *yaml.Node {
	t.Helper()
	if bare := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF"))); json.Valid(bare) && strings.ContainsAny(string(bare[:1]), "{[") {
		decoder := json.NewDecoder(bytes.NewReader(bare))
		decoder.UseNumber()
		return fromJSON(decoder)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &root
}

func fromJSON(decoder *json.Decoder) *yaml.Node {
	switch token, _ := decoder.Token(); t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if t == '[' {
			n.Kind = yaml.SequenceNode
		}
		for decoder.More() {
			n.Content = append(n.Content, fromJSON(decoder))
		}
		_, _ = decoder.Token()
		return n
	case string:
		return scalarNode("!!str", t)
	case json.Number:
		return scalarNode("!!float", string(t))
	case bool:
		return scalarNode("!!bool", strconv.FormatBool(t))
	default:
		return scalarNode("!!null", "")
	}
}

// must takes the result of an edit, which may never fail for a valid text.
func must(t rapid.TB, text []byte) func([]byte, error) []byte {
	return func(out []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatalf("%v for\n%s", err, text)
		}
		return out
	}
}

func random(t *rapid.T, w written) (*written, []byte) {
	w.t = t
	text := w.text()
	parse(t, text)
	return &w, text
}

// plainNode gives random values as nodes, without any style.
func plainNode(depth int) *rapid.Generator[*yaml.Node] {
	return rapid.Custom(func(t *rapid.T) *yaml.Node {
		choice := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case choice < 5 || depth == 0:
			return plainScalar().Draw(t, "scalar")
		case choice < 8:
			n := &yaml.Node{Kind: yaml.MappingNode}
			for _, key := range rapid.SliceOfNDistinct(plainKey(), 0, 4, rapid.ID).Draw(t, "keys") {
				n.Content = append(n.Content, scalarNode("!!str", key), plainNode(depth-1).Draw(t, "value"))
			}
			return n
		default:
			return &yaml.Node{Kind: yaml.SequenceNode, Content: rapid.SliceOfN(plainNode(depth-1), 0, 4).Draw(t, "items")}
		}
	})
}

func scalarNode(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

func plainKey() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"a", "b c", "conditions", "<<", "1", "null", "", "- x", "a: b", "#", "é", "y", "\n", strings.Repeat("long ", 300)}),
		rapid.StringN(0, 6, -1))
}

func plainScalar() *rapid.Generator[*yaml.Node] {
	return rapid.Custom(func(t *rapid.T) *yaml.Node {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return scalarNode("!!null", "")
		case 1:
			return scalarNode("!!bool", rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool"))
		case 2:
			return scalarNode("!!int", rapid.SampledFrom([]string{"0", "-7", "1.50", "1e9", "123456789012345678901234567890"}).Draw(t, "number"))
		case 3:
			return scalarNode("!!str", rapid.String().Draw(t, "text"))
		default:
			return scalarNode("!!str", rapid.SampledFrom([]string{
				"", " lead", "trail ", "a: b", "# x", "x #y", "two\nlines", "two\nlines\n", "\n", "\n\nx", "x\n\n", " lead\nmore", "\tlead\nmore", "  \n x",
				"a\n  \nb", "a\r\nb", "\u2028", "null", "012", "1.0", "no", "{{x}}", "[a", "- x", "-", "---", "...", "'q'", `"q"`, `b\s`, "%", "@", "`", "é", "😀", "\u0085",
				"\uFEFF", "\x00", "&a", "*a", "!a", "?", ": ", "=", "<<", "~", "a,b", "2001-01-01", strings.Repeat("long: ", 40), "x\ny ", "\n x", "a\n\n\nb\n",
			}).Draw(t, "string"))
		}
	})
}

func itoa(n int) string { return strconv.Itoa(n) }

// lookup is the node at a path in the tree of the text, nil when there is none.
func lookup(n *yaml.Node, path []string) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	for _, part := range path {
		var next *yaml.Node
		if n.Kind == yaml.SequenceNode {
			for i, item := range n.Content {
				if part == itoa(i) || part == "-" && i == len(n.Content)-1 {
					next = item
				}
			}
		} else {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == part {
					next = n.Content[i+1]
				}
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

// lines cuts a text into lines without their ends, and without empty ones at the end of the text.
func lines(text []byte) []string {
	plain := strings.ReplaceAll(strings.TrimPrefix(string(text), "\uFEFF"), "\r\n", "\n")
	return strings.Split(strings.TrimRight(plain, "\n"), "\n")
}

// untouched fails when a line outside of a range was changed, or a comment outside was lost.
func untouched(t *rapid.T, w *written, e entry, before, after []byte) {
	t.Helper()
	old, now := lines(before), lines(after)
	e.first, e.last = min(e.first, len(old)), min(e.last, len(old)-1)
	if head := append(slices.Clone(now), make([]string, e.first)...); !slices.Equal(old[:e.first], head[:e.first]) {
		t.Fatalf("lines before %d changed (%v):\n%s\n--- became\n%s", e.first, e.path, before, after)
	}
	tail := len(old) - e.last - 1
	if len(now) < tail || !slices.Equal(old[len(old)-tail:], now[len(now)-tail:]) {
		t.Fatalf("lines behind %d changed (%v):\n%s\n--- became\n%s", e.last, e.path, before, after)
	}
	for _, c := range w.comments {
		inside := len(c.path) >= len(e.path) && slices.Equal(c.path[:len(e.path)], e.path)
		if !inside && strings.Count(string(after), c.text) != 1 {
			t.Fatalf("%q was lost (%v):\n%s\n--- became\n%s", c.text, e.path, before, after)
		}
	}
	if bytes.Contains(before, []byte("\r\n")) && strings.Count(string(after), "\n") != strings.Count(string(after), "\r\n") {
		t.Fatalf("line ends are mixed:\n%q", after)
	}
	if bytes.HasPrefix(before, []byte("\uFEFF")) != bytes.HasPrefix(after, []byte("\uFEFF")) {
		t.Fatal("the byte order mark is not what it was")
	}
}

func parent(w *written, e entry) entry {
	for _, other := range w.entries {
		if len(other.path) == len(e.path)-1 && slices.Equal(other.path, e.path[:len(e.path)-1]) {
			return other
		}
	}
	return entry{last: len(w.lines) - 1}
}

func TestSetChangesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, text := random(t, written{})
		e := rapid.SampledFrom(w.entries).Draw(t, "entry")
		v := plainNode(2).Draw(t, "value")
		out := must(t, text)(splice.Set(text, e.path, v))
		if got := lookup(parse(t, out), e.path); got == nil || !splice.Equal(got, v) {
			t.Fatalf("%v is not set:\n%s\n--- became\n%s", e.path, text, out)
		}
		untouched(t, w, e, text, out)
		if v.Kind == yaml.ScalarNode && e.kind == "scalar" {
			for _, c := range w.comments {
				if !strings.Contains(string(out), c.text) {
					t.Fatalf("%q was lost (%v):\n%s\n--- became\n%s", c.text, e.path, text, out)
				}
			}
		}
	})
}

func TestDeleteChangesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, text := random(t, written{})
		e := rapid.SampledFrom(w.entries).Draw(t, "entry")
		out := must(t, text)(splice.Delete(text, e.path))
		if !splice.Equal(parse(t, out), without(parse(t, text), e.path)) {
			t.Fatalf("%v is not deleted:\n%s\n--- became\n%s", e.path, text, out)
		}
		if e.only || e.inline {
			e = parent(w, e)
		}
		untouched(t, w, e, text, out)
	})
}

func TestAddChangesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, text := random(t, written{})
		e := rapid.SampledFrom(w.entries).Draw(t, "entry")
		if !bytes.HasSuffix(text, []byte("\n")) && w.block {
			return // a block that ends with the text ends otherwise when something follows
		}
		part := "new key"
		switch e.kind {
		case "sequence":
			part = "-"
		case "mapping":
		default:
			return
		}
		v := plainNode(2).Draw(t, "value")
		out := must(t, text)(splice.Set(text, append(slices.Clone(e.path), part), v))
		untouched(t, w, e, text, out)
		for _, c := range w.comments {
			if strings.Count(string(out), c.text) != 1 {
				t.Fatalf("%q was lost (%v):\n%s\n--- became\n%s", c.text, e.path, text, out)
			}
		}
		// What was added is one stretch of lines: without it, the text is the old one.
		old, now := lines(text), lines(out)
		same := 0
		for same < len(old) && same < len(now) && old[same] == now[same] {
			same++
		}
		if added := len(now) - len(old); added <= 0 || !slices.Equal(slices.Delete(slices.Clone(now), same, same+added), old) {
			t.Fatalf("more than one stretch was added (%v):\n%s\n--- became\n%s", e.path, text, out)
		}
	})
}

func without(root *yaml.Node, path []string) *yaml.Node {
	in := lookup(root, path[:len(path)-1])
	last := path[len(path)-1]
	if in.Kind == yaml.SequenceNode {
		for i := range in.Content {
			if itoa(i) == last {
				in.Content = slices.Delete(in.Content, i, i+1)
				break
			}
		}
		return root
	}
	for i := 0; i < len(in.Content); i += 2 {
		if in.Content[i].Value == last {
			in.Content = slices.Delete(in.Content, i, i+2)
			break
		}
	}
	return root
}

// Any value can replace any other, and the old one can come back.
func TestReplaceThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		options := written{linked: rapid.Bool().Draw(t, "linked"), kept: true}
		_, text := random(t, options)
		_, other := random(t, options)
		want := parse(t, other)
		if rapid.Bool().Draw(t, "plain") {
			want = plainNode(3).Draw(t, "want")
		}
		same := must(t, text)(splice.Replace(text, parse(t, text)))
		if !bytes.Equal(same, text) {
			t.Fatalf("the same value changed the text:\n%s\n--- became\n%s", text, same)
		}
		out := must(t, text)(splice.Replace(text, want))
		if !splice.Equal(parse(t, out), want) {
			t.Fatalf("not what is wanted:\n%s\n--- became\n%s", text, out)
		}
		back := must(t, out)(splice.Replace(out, parse(t, text)))
		if !splice.Equal(parse(t, back), parse(t, text)) {
			t.Fatalf("not what it was:\n%s\n--- became\n%s", text, back)
		}
	})
}

// Any few changes are made in place, with anchors and aliases as well: the whole text is never written anew.
func TestFewChangesAreMadeInPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, text := random(t, written{linked: rapid.Bool().Draw(t, "linked"), kept: rapid.Bool().Draw(t, "kept")})
		want := expand(parse(t, text))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			mutate(t, want)
		}
		out := must(t, text)(splice.Replace(text, want))
		if got := parse(t, out); !splice.Equal(got, want) {
			t.Fatalf("not what is wanted:\n%s\n--- became\n%s", text, out)
		}
		if splice.Tries(text, want) == 0 {
			t.Fatalf("written anew:\n%s\n--- became\n%s", text, out)
		}
	})
}

// Below conditions, keys get the wanted order, and those that stay keep their comments wherever they go.
func TestConditionsGetTheWantedOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{2}"), 1, 6, rapid.ID)
		before, after := keys.Draw(t, "before"), keys.Draw(t, "after")
		var text strings.Builder
		text.WriteString("x: 1\nconditions:\n")
		for _, key := range before {
			text.WriteString("  # above " + key + "\n  " + key + ":\n    - v # beside " + key + "\n")
		}
		text.WriteString("y: 2 # end\n")
		want := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range after {
			list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{scalarNode("!!str", rapid.SampledFrom([]string{"v", "w"}).Draw(t, "v"))}}
			want.Content = append(want.Content, scalarNode("!!str", key), list)
		}
		out := must(t, []byte(text.String()))(splice.Set([]byte(text.String()), []string{"conditions"}, want))
		var order []string
		conditions := lookup(parse(t, out), []string{"conditions"})
		for i := 0; i < len(conditions.Content); i += 2 {
			order = append(order, conditions.Content[i].Value)
		}
		if !slices.Equal(order, after) || !splice.Equal(conditions, want) || !bytes.HasSuffix(out, []byte("\ny: 2 # end\n")) {
			t.Fatalf("%v, not %v:\n%s", order, after, out)
		}
		for _, key := range before {
			if slices.Contains(after, key) && (!bytes.Contains(out, []byte("# above "+key+"\n  "+key+":")) || !bytes.Contains(out, []byte("# beside "+key+"\n"))) {
				t.Fatalf("%s has lost its comments:\n%s", key, out)
			}
		}
	})
}
