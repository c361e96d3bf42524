package merge_test

import (
	"bytes"
	"strings"
	"testing"

	"atelier/internal/dsul/merge"
	"atelier/internal/dsul/splice"
)

// exotic holds texts with all that YAML allows and nobody expects, some of them broken.
func exotic() []string {
	return []string{
		"", "# c", "---", "--- # c\n...\n# d\n", "\uFEFFa: 1", "a: 1\r\nb:\r\n- x\r\n", "a: |+\n  x\n\n\nb: 1\n", "a: >2-\n    x\n   y\n",
		"? a\n: b\n? c\n", "? - k\n  - l\n: - m\n", "{a, b: , ? c : d, \"e\":1, 'f': [x: y, {g: 1}: h, ? z]}", "[[], {}, [a, ], ]", "null", "a: null\nb:\n",
		"base: &b\n  x: 1\nuse: *b\nm:\n  <<: *b\n  y: 2\nn: {<<: [*b, {z: 3}], x: 4}\n", "base: &b\n  x: 2\nuse: *b\nm:\n  <<: *b\n  y: 3\n", "a: &x 1\n*x : 2\n", "&k a: 1\n!!str b: &l\n  &m c: 2\n",
		"a: !!str 12\nb: !t x\nc: !<tag:x> y\nd: ! z\n", "- - - a\n    - b\n  - c\n-\n- \n", "a: 'x\n  # y\n\n  z'\nb: \"p \\\n  q\"\nc: r\n s\n t\n", "a:\n  # c1\n  b: 1 # c2\n\n  # c3\n\nd:\n# c4\n- e # c5\n# c6\n- f\n",
		"{\n  \"a\": [1, 2],\n  \"b\": {\"c\": null}\n}\n", "{\"a\":1,\"conditions\":{\"x\":1,\"y\":2}}", "conditions:\n  # one\n  a: 1\n  # two\n  b: 2\n", "conditions:\n  b: 2\n  a: 1\n  c: 3\n", "plain", "'quoted'", "|\n text",
		"do:\n- slug: a\n  v: 1\n- slug: b\n", "do:\n- slug: b\n- slug: a\n  v: 2\n- slug: c\n", "do:\n  - set: {a: 1}\n  - set: {a: 2}\n", "do:\n  - set: {a: 1}\n  - x\n  - set: {a: 3}\n", "a: 1\na: 2\n", "a: [1", "a: 1\n---\nb: 2\n", "a: *b\n", "\x00", "\xff",
		"!!set {a, b}", "{\"a\": \"\\ud83d\\ude00\\/\", \"b\": [1e999]}", "key: [\n a, # one\n b # two\n]\n", "a: &a\nb: *a\n", "<<: {b: 1}\nc: 1\n", "<<<<<<< x\na: 1\n=======\n", "a: 1", "a: 2", "b: 1\na: 2 # c",
	}
}

func FuzzTexts(f *testing.F) {
	texts := exotic()
	for i, text := range texts {
		for _, step := range []int{1, 2, 5, 11, 17} {
			f.Add([]byte(text), []byte(texts[(i+step)%len(texts)]), []byte(texts[(i+2*step)%len(texts)]))
			f.Add([]byte(texts[(i+step)%len(texts)]), []byte(text), []byte(text+"\nfuzz: 1\n"))
			f.Add([]byte(text), []byte(text+"\nx: 1\n"), []byte("y: 1\n"+text))
		}
	}
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		if len(base)+len(ours)+len(theirs) > 8192 {
			return
		}
		got, err := merge.Texts(base, ours, theirs)
		if err != nil {
			mayFail(t, err, base, ours, theirs)
			return
		}
		if _, err := splice.Read(got.Text); err != nil {
			t.Fatalf("%v:\n%q", err, got.Text)
		}
		var choices []merge.Choice
		for _, c := range got.Conflicts {
			choices = append(choices, merge.Choice{Path: c.Path, Side: merge.Theirs})
		}
		settled, err := merge.Texts(base, ours, theirs, choices...)
		if err != nil || len(settled.Conflicts) > 0 {
			t.Fatalf("%v, %v", err, settled.Conflicts)
		}
		swapped, err := merge.Texts(base, theirs, ours)
		if err != nil || len(swapped.Conflicts) != len(got.Conflicts) {
			t.Fatalf("%v: %d conflicts, and %d the other way round", err, len(got.Conflicts), len(swapped.Conflicts))
		}
		marks(t, base, ours, theirs, got, settled)
	})
}

// mayFail fails unless one of the texts cannot be read.
func mayFail(t *testing.T, err error, texts ...[]byte) {
	t.Helper()
	for _, text := range texts {
		if _, broken := splice.Read(text); broken != nil {
			return
		}
	}
	t.Fatalf("%v for %q", err, texts)
}

// marks checks that the marked text has both results in it.
func marks(t *testing.T, base, ours, theirs []byte, got, settled merge.Result) {
	t.Helper()
	marked, err := merge.Marked(base, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Conflicts) == 0 {
		if !bytes.Equal(marked.Text, got.Text) {
			t.Fatalf("%q, not %q", marked.Text, got.Text)
		}
		return
	}
	if bytes.Contains(got.Text, []byte("<<<<<<<")) || bytes.Contains(theirs, []byte("<<<<<<<")) || bytes.Contains(got.Text, []byte("=======")) {
		return
	}
	if !bytes.HasSuffix(settled.Text, []byte("\n")) || !bytes.HasSuffix(theirs, []byte("\n")) {
		return // a block at the end may mean something else with a line end behind it
	}
	first, second := side(marked.Text, true), side(marked.Text, false)
	if strings.TrimSuffix(first, "\n") != strings.TrimSuffix(string(got.Text), "\n") {
		t.Fatalf("ours is %q, not %q", first, got.Text)
	}
	read, err := splice.Read([]byte(second))
	if err != nil {
		t.Fatalf("%v: %q", err, second)
	}
	want, err := splice.Read(settled.Text)
	if err != nil {
		t.Fatal(err)
	}
	if !read.Means([]byte(second), want.Value()) {
		t.Fatalf("theirs is %q, not %q", second, settled.Text)
	}
}

// side takes one side of every conflict in a marked text.
func side(marked []byte, ours bool) string {
	var out strings.Builder
	in := ""
	for line := range strings.Lines(string(marked)) {
		switch mark := strings.TrimRight(line, "\r\n"); {
		case mark == "<<<<<<< ours" || in == "<" && mark == "=======":
			in = mark[:1]
		case in == "=" && mark == ">>>>>>> theirs":
			in = ""
		case in == "" || ours == (in == "<"):
			out.WriteString(line)
		}
	}
	return out.String()
}
