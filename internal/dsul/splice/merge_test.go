package splice_test

import (
	"testing"

	"atelier/internal/dsul/internal/value"
	"atelier/internal/dsul/splice"
)

func read(t *testing.T, text string) *splice.Document {
	t.Helper()
	d, err := splice.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What comes from another document is written as it stands there, at the column where it goes, with its comments.
func TestMergeTakesWhatAnotherDocumentHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, other, key, want string }{
		"a key":                   {"x: 1\nz: 2\n", "x: 1\n# why\ny: 'one' # so\nz: 2\n", "y", "x: 1\nz: 2\n# why\ny: 'one' # so\n"},
		"deeper":                  {"x:\n    a: 1\n", "x:\n  a: 1\n  # why\n  b:\n  - c # so\n", "x", "x:\n    a: 1\n    # why\n    b:\n    - c # so\n"},
		"less deep":               {"x:\n a: 1\n", "x:\n      a: 1\n      # why\n      b: 'two\n\n  lines'\n", "x", "x:\n a: 1\n # why\n b: 'two\n\nlines'\n"},
		"beside a dash":           {"x:\n- a: 1\n  b: 2\n", "x:\n  - a: 3 # so\n    b: 2\n", "x", "x:\n- a: 3 # so\n  b: 2\n"},
		"an item":                 {"x:\n  - a\n", "x:\n- a\n# why\n- b: |\n    c\n\n    d\n", "x", "x:\n  - a\n  # why\n  - b: |\n      c\n\n      d\n"},
		"a comment in a text":     {"x: 1\n", "x: '# none'\n", "x", "x: '# none'\n"},
		"a comment that stays":    {"x: # mine\n  - a\ny: 1\n", "x: b # so\n", "x", "x: b # mine\ny: 1\n"},
		"a comment of both":       {"# why\nx: 1\n", "# why\n\nx: 2\n", "x", "# why\nx: 2\n"},
		"in a list that is empty": {"x: []\n", "x:\n  # why\n  - a # so\n", "x", "x:\n  # why\n  - a # so\n"},
		"JSON stays JSON":         {"{\"x\": 1}\n", "# why\nx: 'a'\n", "x", "{\"x\": \"a\"}\n"},
		"anchors are resolved":    {"x: 1\n", "y: &a [1] # so\nx: *a\n", "x", "x:\n  - 1\n"},
		"an anchor is not copied": {"x: 1\n", "x: &a\n  b: 1 # so\ny: *a\n", "x", "x:\n  b: 1 # so\n"},
		"carriage returns":        {"x: 1\r\nz: 2\r\n", "# why\nx: |\n  a\n  b\n", "x", "x: |\r\n  a\r\n  b\r\nz: 2\r\n"},
		"the end of the text":     {"x: 1", "x: 1\ny: |\n  a\n", "y", "x: 1\ny: |\n  a\n"},
	} {
		d, other := read(t, c.text), read(t, c.other)
		part, _ := other.Value().Get(c.key)
		want, err := d.Value().With([]string{c.key}, part)
		if err != nil {
			t.Fatal(err)
		}
		out, err := d.Merge(want, other, read(t, ""))
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, out, c.want)
		}
	}
}

// What moves inside a text keeps its comments, also when it must be written in another place.
func TestMergeKeepsWhatMoves(t *testing.T) {
	t.Parallel()
	d := read(t, "x:\n  - a: 1 # one\n    b: 2\n  - a: 3 # three\n")
	list, _ := d.Value().Get("x")
	want := value.NewMap([]value.Entry{{Name: "y", Key: value.NewString("y"), Value: list}})
	out, err := d.Merge(want, read(t, ""), read(t, ""))
	if err != nil || string(out) != "y:\n  - a: 1 # one\n    b: 2\n  - a: 3 # three\n" {
		t.Errorf("%v: %q", err, out)
	}
}

// A document that is not there means null, and comments alone are none.
func TestReadWithoutDocument(t *testing.T) {
	t.Parallel()
	for text, some := range map[string]bool{"": false, "# c\n": false, "---\n": true, "null": true, "a: 1": true, "[x: y, {z: 1}: 2]": true} {
		d := read(t, text)
		if (d.Value() != nil) != some || string(d.Raw()) != text || !d.Means([]byte(text), d.Value()) {
			t.Errorf("%q: %v", text, d.Value())
		}
	}
	if _, err := splice.Read([]byte("a: [")); err == nil {
		t.Error("a broken text is not refused")
	}
	if d := read(t, `{"a": 1}`); d.Means([]byte("a: 1"), d.Value()) || d.Means([]byte("a: ["), d.Value()) || !d.Means([]byte("{\n\"a\": 1}"), d.Value()) {
		t.Error("JSON does not stay JSON")
	}
}
