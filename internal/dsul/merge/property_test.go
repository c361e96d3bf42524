package merge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"atelier/internal/dsul"
	"atelier/internal/dsul/merge"
	"atelier/internal/dsul/splice"
)

func random(t *testing.T, property func(*world)) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { property(&world{T: t}) })
}

func (w *world) merge(base, ours, theirs []byte, choices ...merge.Choice) merge.Result {
	w.Helper()
	got, err := merge.Texts(base, ours, theirs, choices...)
	if err != nil {
		w.Fatalf("%v:\n%s\n--- ours\n%s\n--- theirs\n%s", err, base, ours, theirs)
	}
	return got
}

func (w *world) tell(t trio, got merge.Result) string {
	return fmt.Sprintf("%s\n--- ours\n%s\n--- theirs\n%s\n--- merged\n%s", t.texts[0], t.texts[1], t.texts[2], got.Text)
}

func (w *world) parse(text []byte) *yaml.Node {
	w.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		w.Fatalf("%v in\n%s", err, text)
	}
	return &root
}

// What only one side changed is taken byte for byte, and so is what both sides changed alike.
func TestOneSidedMergesAreThatSide(t *testing.T) {
	random(t, func(w *world) {
		made := w.trio()
		b, x := made.texts[0], made.texts[1]
		for _, got := range []merge.Result{w.merge(b, x, b), w.merge(b, b, x), w.merge(b, x, x), w.merge(nil, x, x)} {
			if len(got.Conflicts) > 0 || !bytes.Equal(got.Text, x) {
				w.Fatal(w.tell(made, got))
			}
		}
	})
}

// The same holds for what they mean when the unchanged side is only written otherwise.
func TestStyleIsNoChange(t *testing.T) {
	random(t, func(w *world) {
		made := w.trio()
		b, x, again := made.texts[0], made.texts[1], w.write(made.trees[0])
		for _, got := range []merge.Result{w.merge(b, x, again), w.merge(b, again, x), w.merge(b, x, w.write(made.trees[1]))} {
			if len(got.Conflicts) > 0 || !splice.Equal(w.parse(got.Text), made.trees[1]) {
				w.Fatal(w.tell(made, got))
			}
		}
	})
}

// Edits of different keys never conflict, whatever is around them, and all of them are there.
func TestDifferentKeysNeverConflict(t *testing.T) {
	random(t, func(w *world) {
		base := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		want := clone(base)
		ours, theirs := clone(base), clone(base)
		put := func(in *yaml.Node, key string, part *yaml.Node) {
			if part != nil {
				in.Content = append(in.Content, text0(key), part)
			}
		}
		for i := range w.number(1, 8) {
			key := "k" + strconv.Itoa(i)
			var before, after *yaml.Node
			if w.chance(80) {
				before = w.tree("b", 3)
				after = w.edited(before, "x")
			}
			if before == nil {
				after = w.tree("x", 2)
			} else if w.chance(10) {
				after = nil
			}
			put(base, key, before)
			sides := [2]*yaml.Node{before, before}
			sides[w.number(0, 1)] = after
			put(ours, key, sides[0])
			put(theirs, key, sides[1])
			put(want, key, after)
		}
		made := trio{texts: [3][]byte{w.write(base), w.write(ours), w.write(theirs)}}
		got := w.merge(made.texts[0], made.texts[1], made.texts[2])
		if len(got.Conflicts) > 0 || !splice.Equal(w.parse(got.Text), want) {
			w.Fatal(w.tell(made, got))
		}
	})
}

// A scalar that both sides change differently is always a conflict, and exactly that one.
func TestTheSameKeyAlwaysConflicts(t *testing.T) {
	random(t, func(w *world) {
		base := w.mapping("b", 4)
		base.Content = append(base.Content, text0("one"), w.fresh("b"))
		path, place := []string{"one"}, len(base.Content)-1
		ours, theirs := clone(base), clone(base)
		ours.Content[place], theirs.Content[place] = w.fresh("o"), w.fresh("t")
		got := w.merge(w.write(base), w.write(ours), w.write(theirs))
		if len(got.Conflicts) != 1 || !slices.Equal(got.Conflicts[0].Path, path) || !splice.Equal(w.parse(got.Text), ours) {
			w.Fatalf("%v\n%s", got.Conflicts, got.Text)
		}
		c := got.Conflicts[0]
		if !splice.Equal(c.Base, base.Content[place]) || !splice.Equal(c.Ours, ours.Content[place]) || !splice.Equal(c.Theirs, theirs.Content[place]) {
			w.Fatalf("%s, %s, %s", dsul.JSON(c.Base), dsul.JSON(c.Ours), dsul.JSON(c.Theirs))
		}
	})
}

var token = regexp.MustCompile(`[ot]\d+\.`)

// Nothing new is lost: what ours added is always there, and what theirs added unless there are conflicts.
func TestNothingIsLost(t *testing.T) {
	random(t, func(w *world) {
		made := w.trio()
		got := w.merge(made.texts[0], made.texts[1], made.texts[2])
		want := token.FindAllString(string(made.texts[1]), -1)
		if len(got.Conflicts) == 0 {
			want = append(want, token.FindAllString(string(made.texts[2]), -1)...)
		}
		for _, one := range want {
			if bytes.Count(got.Text, []byte(one)) != 1 {
				w.Fatalf("%s is there %d times:\n%s", one, bytes.Count(got.Text, []byte(one)), w.tell(made, got))
			}
		}
		for _, c := range got.Conflicts {
			if equal(c.Ours, c.Theirs) || equal(c.Base, c.Ours) || equal(c.Base, c.Theirs) {
				w.Fatalf("%v is no conflict:\n%s", c.Path, w.tell(made, got))
			}
			if c.Ours != nil && !equal(lookup(made.trees[1], c.Path), c.Ours) ||
				c.Ours == nil && len(c.Path) > 0 && lookup(made.trees[1], c.Path[:len(c.Path)-1]) == nil {
				w.Fatalf("%v is not the place:\n%s", c.Path, w.tell(made, got))
			}
		}
	})
}

func equal(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	// A key of the mapping makes the order of what is in it matter, as it may where the nodes come from.
	return bytes.Equal(dsul.JSON(a), dsul.JSON(b))
}

func lookup(n *yaml.Node, path []string) *yaml.Node {
	for _, part := range path {
		if n = get(n, part); n == nil {
			return nil
		}
	}
	return n
}

var remark = regexp.MustCompile(`# [ot]c\d+\.`)

// Comments of ours always survive, and those that come with something new in theirs unless there are conflicts.
func TestCommentsComeAlong(t *testing.T) {
	random(t, func(w *world) {
		w.block = true
		made := w.trio()
		if bytes.HasPrefix(made.texts[1], []byte("{}")) {
			return // that is JSON, which has no comments
		}
		got := w.merge(made.texts[0], made.texts[1], made.texts[2])
		want := remark.FindAllString(string(made.texts[1]), -1)
		if len(got.Conflicts) == 0 {
			want = append(want, remark.FindAllString(string(made.texts[2]), -1)...)
		}
		for _, one := range want {
			if bytes.Count(got.Text, []byte(one)) != 1 {
				w.Fatalf("%s is there %d times:\n%s", one, bytes.Count(got.Text, []byte(one)), w.tell(made, got))
			}
		}
	})
}

// With the sides swapped the conflicts are the same; the places in lists are those of the other side then.
func TestConflictsAreSymmetric(t *testing.T) {
	random(t, func(w *world) {
		made := w.trio()
		there := w.merge(made.texts[0], made.texts[1], made.texts[2])
		back := w.merge(made.texts[0], made.texts[2], made.texts[1])
		var a, b []string
		for _, c := range there.Conflicts {
			a = append(a, signature(c.Path, c.Base, c.Ours, c.Theirs))
		}
		for _, c := range back.Conflicts {
			b = append(b, signature(c.Path, c.Base, c.Theirs, c.Ours))
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			w.Fatalf("%v\n%v\n%s", a, b, w.tell(made, there))
		}
	})
}

func signature(path []string, nodes ...*yaml.Node) string {
	parts := []string{}
	for _, part := range path {
		if part != "1" { // also a key of the random mappings
			part = regexp.MustCompile(`^\d+$`).ReplaceAllString(part, "#")
		} else {
			part = "#"
		}
		parts = append(parts, part)
	}
	for _, n := range nodes {
		if n == nil {
			parts = append(parts, "nothing")
		} else {
			parts = append(parts, string(dsul.JSON(n)))
		}
	}
	return strings.Join(parts, " ")
}

// Choices for all conflicts leave none. Ours everywhere is what there is without choices, theirs everywhere is the merge
// the other way round with ours, and a chosen value is where the conflict was.
func TestChoices(t *testing.T) {
	random(t, func(w *world) {
		made := w.trio()
		b, o, th := made.texts[0], made.texts[1], made.texts[2]
		got := w.merge(b, o, th)
		all := func(side merge.Side, from merge.Result) (choices []merge.Choice) {
			for _, c := range from.Conflicts {
				choices = append(choices, merge.Choice{Path: c.Path, Side: side})
			}
			return choices
		}
		ours, theirs := w.merge(b, o, th, all(merge.Ours, got)...), w.merge(b, o, th, all(merge.Theirs, got)...)
		base := w.merge(b, o, th, all(merge.Base, got)...)
		if len(ours.Conflicts)+len(theirs.Conflicts)+len(base.Conflicts) > 0 || !bytes.Equal(ours.Text, got.Text) {
			w.Fatal(w.tell(made, ours))
		}
		back := w.merge(b, th, o)
		if x, y := unordered(w.parse(theirs.Text)), unordered(w.parse(back.Text)); x != y {
			w.Fatalf("theirs everywhere is\n%s\nand ours the other way round\n%s\n%s", x, y, w.tell(made, theirs))
		}
		if len(got.Conflicts) == 0 {
			return
		}
		var values []merge.Choice
		chosen := map[string]*yaml.Node{}
		for _, c := range got.Conflicts {
			v := w.fresh("v")
			chosen[v.Value] = v
			values = append(values, merge.Choice{Path: c.Path, Value: v})
		}
		with := w.merge(b, o, th, values...)
		for text := range chosen {
			quick, _, _ := strings.Cut(text, ".")
			if len(with.Conflicts) > 0 || !strings.Contains(string(with.Text), quick+".") {
				w.Fatalf("%s is not there:\n%s", text, w.tell(made, with))
			}
		}
	})
}

// unordered writes a value without regard to the order of keys and items.
func unordered(n *yaml.Node) string {
	var v any
	if err := json.Unmarshal(dsul.JSON(n), &v); err != nil {
		return err.Error()
	}
	return sorted(v)
}

func sorted(v any) string {
	var parts []string
	switch t := v.(type) {
	case map[string]any:
		for key, part := range t {
			parts = append(parts, key+":"+sorted(part))
		}
	case []any:
		for _, part := range t {
			parts = append(parts, sorted(part))
		}
	default:
		return fmt.Sprintf("%q", v)
	}
	slices.Sort(parts)
	return "(" + strings.Join(parts, ",") + ")"
}
