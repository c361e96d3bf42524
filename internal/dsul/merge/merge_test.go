package merge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/merge"
)

func merged(t *testing.T, base, ours, theirs string, choices ...merge.Choice) merge.Result {
	t.Helper()
	got, err := merge.Texts([]byte(base), []byte(ours), []byte(theirs), choices...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func paths(got merge.Result) string {
	var all []string
	for _, c := range got.Conflicts {
		all = append(all, strings.Join(c.Path, "/"))
	}
	return strings.Join(all, " ")
}

// Line ends, byte order marks and missing line ends are those of ours.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"lines with carriage returns in ours":   {"a: 1\nb: 2\n", "a: 10\r\nb: 2\r\n", "a: 1\n# two\nb: 20\nc: |\n  x\n  y\n", "a: 10\r\n# two\r\nb: 20\r\nc: |\r\n  x\r\n  y\r\n"},
		"lines with carriage returns in theirs": {"a: 1\nb: 2\n", "a: 10\nb: 2\n", "a: 1\r\n# two\r\nb: 20\r\n", "a: 10\n# two\nb: 20\n"},
		"no line end":                           {"a: 1", "a: 1\nb: 2", "a: 1\nc: 3", "a: 1\nb: 2\nc: 3"},
		"no line end in ours":                   {"a: 1\n", "a: 2", "a: 1\nc: 3\n", "a: 2\nc: 3\n"},
		"a byte order mark in ours":             {"a: 1\nb: 1\n", "\uFEFFa: 2\nb: 1\n", "a: 1\nb: 2\n", "\uFEFFa: 2\nb: 2\n"},
		"a byte order mark in theirs":           {"a: 1\nb: 1\n", "a: 2\nb: 1\n", "\uFEFFa: 1\nb: 2\n", "a: 2\nb: 2\n"},
	} {
		got := merged(t, c.base, c.ours, c.theirs)
		if string(got.Text) != c.want || len(got.Conflicts) > 0 {
			t.Errorf("%s: %q, want %q", name, got.Text, c.want)
		}
	}
}

// A base that is not there, or empty, means that both sides added the document.
func TestNoBase(t *testing.T) {
	t.Parallel()
	ours, theirs := []byte("name: a\nx: {p: 1}\n"), []byte("name: b\nx: {q: 1}\n")
	for _, base := range [][]byte{nil, {}, []byte("# nothing yet\n")} {
		got, err := merge.Texts(base, ours, theirs)
		if err != nil || paths(got) != "name" || string(got.Text) != "name: a\nx: {p: 1, q: 1}\n" || got.Conflicts[0].Base != nil {
			t.Errorf("%q, %v, %q", got.Text, err, paths(got))
		}
	}
	got := merged(t, "a: 1\n", "", "a: 2\n")
	if paths(got) != "" || len(got.Conflicts) != 1 || got.Conflicts[0].Ours != nil || got.Conflicts[0].Path == nil || len(got.Text) > 0 {
		t.Errorf("%q, %v", got.Text, got.Conflicts)
	}
	if got := merged(t, "a: 1\n", "", "a: 2\n", merge.Choice{Side: merge.Theirs}); string(got.Text) != "a: 2\n" {
		t.Errorf("%q", got.Text)
	}
}

const (
	base   = "name: a\nold: 1\ndo:\n  - set: {name: x}\n  - set: {name: y}\n"
	ours   = "name: b # ours\ndo:\n  - comment: first\n  - set: {name: x}\n  - set: {name: z}\n"
	theirs = "# theirs\nname: c\nold: 2\ndo:\n  - set: {name: x}\n  - set: {name: w, type: t}\n"
)

func TestChoicesSettleOneByOne(t *testing.T) {
	t.Parallel()
	if got := paths(merged(t, base, ours, theirs)); got != "name do/2/set/name old" && got != "name old do/2/set/name" {
		t.Fatal(got)
	}
	got := merged(t, base, ours, theirs,
		merge.Choice{Path: []string{"name"}, Value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "no"}},
		merge.Choice{Path: []string{"old"}, Side: merge.Base},
		merge.Choice{Path: []string{"do", "2", "set", "name"}})
	doc, problems := dsul.Parse(dsul.Automation, "x", got.Text)
	if len(problems) > 0 {
		t.Fatal(problems, string(got.Text))
	}
	want := `{"name":"no","old":1,"do":[{"comment":"first"},{"set":{"name":"x"}},{"set":{"type":"t"}}]}`
	if shown, err := doc.JSON(); err != nil || string(shown) != want || len(got.Conflicts) > 0 {
		t.Errorf("%s, %v, %v", shown, err, got.Conflicts)
	}
	if !strings.Contains(string(got.Text), "# ours") {
		t.Errorf("the comment is lost:\n%s", got.Text)
	}
	some := merged(t, base, ours, theirs, merge.Choice{Path: []string{"old"}, Side: merge.Theirs})
	if paths(some) != "name do/2/set/name" || !strings.Contains(string(some.Text), "old: 2\n") {
		t.Errorf("%q, %s", paths(some), some.Text)
	}
}

// The last of several choices for a place counts.
func TestTheLastChoiceCounts(t *testing.T) {
	t.Parallel()
	name := []string{"name"}
	got := merged(t, "name: a\n", "name: b\n", "name: c\n", merge.Choice{Path: name, Side: merge.Ours}, merge.Choice{Path: name, Side: merge.Theirs})
	if string(got.Text) != "name: c\n" {
		t.Errorf("%q", got.Text)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	choose := func(c ...merge.Choice) []merge.Choice { return c }
	self := &yaml.Node{Kind: yaml.SequenceNode}
	self.Content = []*yaml.Node{self}
	for name, c := range map[string]struct {
		base, ours, theirs string
		choices            []merge.Choice
		want               string
	}{
		"broken base":           {"a: [", "a: 1", "a: 1", nil, "base: read the text: "},
		"broken ours":           {"a: 1", "a: 1\n---\nb: 1\n", "a: 1", nil, "ours: read the text: there is more than one document"},
		"duplicate keys":        {"a: 1", "a: 1", "a: 1\na: 2\n", nil, `theirs: read the text: line 2: the key "a" is there twice`},
		"no conflict there":     {"a: 1", "a: 2", "a: 3", choose(merge.Choice{Path: []string{"do", "1", "b c"}}), "there is no conflict at do[1].b c"},
		"no conflict at all":    {"a: 1", "a: 1", "a: 3", choose(merge.Choice{Side: merge.Ours}), "there is no conflict at the whole document"},
		"below a conflict":      {"a: {b: 1}", "a: 2", "a: {b: 3}", choose(merge.Choice{Path: []string{"a", "b"}, Side: merge.Ours}), "there is no conflict at a.b"},
		"an unknown side":       {"a: 1", "a: 2", "a: 3", choose(merge.Choice{Path: []string{"a"}, Side: "mine"}), `the choice for a is "mine"; it must be ours, theirs, base or a value`},
		"a value without sense": {"a: 1", "a: 2", "a: 3", choose(merge.Choice{Path: []string{"a"}, Value: self}), "the value chosen for a: "},
	} {
		_, err := merge.Texts([]byte(c.base), []byte(c.ours), []byte(c.theirs), c.choices...)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"none":             {"a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 2\n", "a: 2\nb: 2\n"},
		"one key":          {"a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 3\nb: 2\n", "<<<<<<< ours\na: 2\n=======\na: 3\n>>>>>>> theirs\nb: 2\n"},
		"deleted here":     {"a: 1\nb: 1\n", "b: 1\n", "a: 3\nb: 1\n", "<<<<<<< ours\n=======\na: 3\n>>>>>>> theirs\nb: 1\n"},
		"deleted there":    {"a: 1\nb: 1\n", "a: 2\nb: 1\n", "b: 1\n", "<<<<<<< ours\na: 2\n=======\n>>>>>>> theirs\nb: 1\n"},
		"carriage returns": {"a: 1\r\nb: 1\r\n", "a: 2\r\nb: 1\r\n", "a: 3\r\nb: 1\r\n", "<<<<<<< ours\r\na: 2\r\n=======\r\na: 3\r\n>>>>>>> theirs\r\nb: 1\r\n"},
		"no line end":      {"a: 1", "a: 2", "a: 3", "<<<<<<< ours\na: 2\n=======\na: 3\n>>>>>>> theirs\n"},
		"everything":       {"a: 1\n", "- a\n- b\n", "x\n", "<<<<<<< ours\n- a\n- b\n=======\nx\n>>>>>>> theirs\n"},
		"emptied":          {"a: 1\n", "", "a: 2\n", "<<<<<<< ours\n=======\na: 2\n>>>>>>> theirs\n"},
		"far apart": {
			"a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\n", "a: 2\nb: 1\nc: 1\nd: 1\ne: 1\nf: 2\n", "a: 3\nb: 1\nc: 3\nd: 1\ne: 1\nf: 3\n",
			"<<<<<<< ours\na: 2\n=======\na: 3\n>>>>>>> theirs\nb: 1\nc: 3\nd: 1\ne: 1\n<<<<<<< ours\nf: 2\n=======\nf: 3\n>>>>>>> theirs\n",
		},
		"near": {"a: 1\nb: 1\nc: 1\n", "a: 2\nb: 1\nc: 2\n", "a: 3\nb: 1\nc: 3\n", "<<<<<<< ours\na: 2\nb: 1\nc: 2\n=======\na: 3\nb: 1\nc: 3\n>>>>>>> theirs\n"},
	} {
		got, err := merge.Marked([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if err != nil || string(got.Text) != c.want {
			t.Errorf("%s: %v\n%s", name, err, got.Text)
		}
	}
	if _, err := merge.Marked([]byte("a: ["), nil, nil); err == nil {
		t.Error("a broken text is not refused")
	}
}

// Large and hostile texts are merged in time: what is squared somewhere takes longer than the tests may.
func TestHostile(t *testing.T) {
	t.Parallel()
	many := func(format string, count int) string {
		var out strings.Builder
		for i := range count {
			fmt.Fprintf(&out, format, i)
		}
		return out.String()
	}
	keys := many("k%d: 1\n", 10000)
	changed := strings.ReplaceAll
	list := "do:\n" + many("  - set: {name: n%d, value: 1}\n", 5000)
	same := "do:\n" + strings.Repeat("  - x\n", 20000)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + many("b%d: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n", 2000)
	deep := strings.Repeat("[", 900) + strings.Repeat("]", 900) + "\n"
	for name, c := range map[string][3]string{
		"keys":       {keys, changed(keys, "5: 1", "5: 2"), changed(keys, "6: 1", "6: 2")},
		"conflicts":  {keys, changed(keys, "5: 1", "5: 2"), changed(keys, "5: 1", "5: 3")},
		"reversed":   {keys, changed(keys, "k", "l"), changed(keys, "k", "m")},
		"indented":   {list, changed(list, "  - ", "      -    "), changed(list, "5, value: 1", "5, value: 2")},
		"list":       {list, changed(list, "5, value: 1", "5, value: 2"), changed(list, "6, value: 1", "6, value: 2")},
		"equal":      {same, same + "  - y\n", strings.TrimPrefix(same, "do:\n  - x\n") + "z: 1\n"},
		"other list": {list, changed(list, "name: n", "name: m"), changed(list, "name: n", "name: o")},
		"bomb":       {bomb, bomb + "c: 1\n", changed(bomb, "[x", "[y")},
		"deep":       {"a: " + deep, "a: " + deep + "b: 1\n", "a: [" + deep + "]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "equal" {
				c[2] = "do:\n" + c[2]
			}
			if _, err := merge.Texts([]byte(c[0]), []byte(c[1]), []byte(c[2])); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNodesOfConflicts(t *testing.T) {
	t.Parallel()
	got := merged(t, "d: &d {x: 1}\na: [*d, 1.10]\n", "d: &d {x: 1}\na: {<<: *d, y: no}\n", "d: &d {x: 1}\na: '012'\n")
	if len(got.Conflicts) != 1 || !slices.Equal(got.Conflicts[0].Path, []string{"a"}) {
		t.Fatal(got.Conflicts)
	}
	c := got.Conflicts[0]
	for i, want := range []string{`[{"x":1},1.10]`, `{"x":1,"y":"no"}`, `"012"`} {
		if shown := string(dsul.JSON([]*yaml.Node{c.Base, c.Ours, c.Theirs}[i])); shown != want {
			t.Errorf("%s, not %s", shown, want)
		}
	}
	if written := string(dsul.Encode(c.Base)); written != "- x: 1\n- 1.10\n" {
		t.Errorf("%q", written)
	}
}
