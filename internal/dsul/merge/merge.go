// Package merge merges two changed texts of a document by what they mean: keys by their names, items of lists by their
// slug, id or name, or by what they hold. What only one side changed is taken from that side, however near to what the other
// side changed it stands; what both changed differently is a conflict, and is never guessed.
package merge

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/compare"
	"atelier/internal/dsul/internal/value"
	"atelier/internal/dsul/splice"
)

// Conflict is one place that both sides changed differently. A nil node means that there is nothing there.
type Conflict struct {
	// Path is made of keys, and of places in lists: those in ours, in theirs for items that ours does not have.
	Path               []string
	Base, Ours, Theirs *yaml.Node
}

// Side names a side of a merge.
type Side string

// The sides.
const (
	Ours   Side = "ours"
	Theirs Side = "theirs"
	Base   Side = "base"
)

// Choice settles the conflict at a path: with what one side has there, or with a value. Then Side is empty, and a nil Value
// deletes what is there.
type Choice struct {
	Path  []string
	Side  Side
	Value *yaml.Node
}

// Result is a merged text. Where a conflict is not settled it has what ours has.
type Result struct {
	Text      []byte
	Conflicts []Conflict
}

// Texts merges the changes from base to theirs into ours. A nil base means that both sides added the document. Choices
// settle conflicts; of several for one path the last one counts. It fails when a text cannot be read as YAML or a choice
// names no conflict.
//
// The result begins with the text of ours, and keeps its comments, order and style. What comes from theirs brings its
// comments along. Order of keys, indentation, quotes and comments never conflict; the order of keys means something only
// in the mapping below a key `conditions`.
func Texts(base, ours, theirs []byte, choices ...Choice) (Result, error) {
	t, err := read(base, ours, theirs)
	if err != nil {
		return Result{}, err
	}
	m := &merger{choices: map[string]choice{}}
	if err := m.choose(choices); err != nil {
		return Result{}, err
	}
	merged := m.merge(spot{}, t.values())
	if err := m.unused(choices); err != nil {
		return Result{}, err
	}
	text, err := t.write(merged)
	if err != nil {
		return Result{}, fmt.Errorf("write the merged text: %w", err)
	}
	return Result{Text: text, Conflicts: m.open()}, nil
}

// texts are the three texts of a merge.
type texts struct{ base, ours, theirs *splice.Document }

func read(base, ours, theirs []byte) (t texts, err error) {
	for _, one := range []struct {
		side Side
		raw  []byte
		into **splice.Document
	}{{Base, base, &t.base}, {Ours, ours, &t.ours}, {Theirs, theirs, &t.theirs}} {
		if *one.into, err = splice.Read(one.raw); err != nil {
			return t, fmt.Errorf("%s: %w", one.side, err)
		}
	}
	return t, nil
}

func (t texts) values() sides { return sides{t.base.Value(), t.ours.Value(), t.theirs.Value()} }

// choice is a choice that has been read.
type choice struct {
	side Side
	with *value.Value // nil for nothing
}

func (m *merger) choose(choices []Choice) error {
	for _, one := range choices {
		read := choice{side: one.Side}
		switch {
		case one.Side == "" && one.Value != nil:
			with, err := value.Of(one.Value)
			if err != nil {
				return fmt.Errorf("the value chosen for %s: %w", shown(one.Path), err)
			}
			read.with = with
		case !slices.Contains([]Side{"", Ours, Theirs, Base}, one.Side):
			return fmt.Errorf("the choice for %s is %q; it must be ours, theirs, base or a value", shown(one.Path), one.Side)
		}
		m.choices[joined(one.Path)] = read
	}
	return nil
}

// unused fails when there is a choice for a place without a conflict.
func (m *merger) unused(choices []Choice) error {
	known := map[string]bool{}
	for _, c := range m.conflicts {
		known[joined(c.path)] = true
	}
	for _, one := range choices {
		if !known[joined(one.Path)] {
			return fmt.Errorf("there is no conflict at %s", shown(one.Path))
		}
	}
	return nil
}

// open gives the conflicts that nobody has settled.
func (m *merger) open() []Conflict {
	var found []Conflict
	for _, c := range m.conflicts {
		if !c.settled {
			found = append(found, Conflict{Path: c.path, Base: c.base.Node(), Ours: c.ours.Node(), Theirs: c.theirs.Node()})
		}
	}
	return found
}

// joined makes one text of a path, different for different paths.
func joined(path []string) string { return fmt.Sprintf("%q", path) }

// shown is a path for people.
func shown(path []string) string {
	if len(path) == 0 {
		return "the whole document"
	}
	return compare.Path(path)
}

// unchanged gives the text of the other side when one is as the base, or as the other.
func (t texts) unchanged() ([]byte, bool) {
	base, ours, theirs := t.base.Raw(), t.ours.Raw(), t.theirs.Raw()
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(base, theirs):
		return ours, true
	case bytes.Equal(base, ours):
		return theirs, true
	}
	return nil, false
}
