// Package splice edits YAML texts so that nothing else in them changes: comments, order, quotes, spacing and line ends of
// all that is not edited stay byte for byte.
package splice

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// ErrPath says that a path leads through a scalar, to a place that a list does not have, or is not valid UTF-8.
var ErrPath = value.ErrPath

// Set returns the text with the value at a path replaced, or added when there is none. A path is made of keys; in a list,
// of places from 0, where its length or "-" adds an item. Mappings that the path needs and that are missing are made.
func Set(text []byte, path []string, v *yaml.Node) ([]byte, error) {
	part, err := value.Of(v)
	if err != nil {
		return nil, err
	}
	return edited(text, func(old *value.Value) (*value.Value, error) { return old.With(path, part) })
}

// Delete returns the text with the value at a path taken out, with its key and the comments directly above it. A text that
// has no such value is returned as it is.
func Delete(text []byte, path []string) ([]byte, error) {
	return edited(text, func(old *value.Value) (*value.Value, error) { return old.Without(path), nil })
}

// Replace returns the text that means what is wanted, and changes only what differs: order, comments and style of the rest
// stay. How the wanted node is written, its order of keys included, is of no importance; only the mapping below a key
// `conditions` gets the wanted order.
func Replace(text []byte, want *yaml.Node) ([]byte, error) {
	v, err := value.Of(want)
	if err != nil {
		return nil, err
	}
	return edited(text, func(*value.Value) (*value.Value, error) { return v, nil })
}

// Equal tells whether two nodes mean the same: aliases and merge keys resolved, whatever their style. The order of keys
// matters only in the mapping below a key `conditions`. Nodes that cannot be resolved are equal to none.
func Equal(a, b *yaml.Node) bool {
	x, errX := value.Of(a)
	y, errY := value.Of(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// attempts is how often a part is tried that is one size larger, before the whole text is written anew.
const attempts = 8

func edited(raw []byte, edit func(*value.Value) (*value.Value, error)) ([]byte, error) {
	d, found, err := open(raw)
	if err != nil {
		return nil, err
	}
	want, err := edit(d.value)
	if err != nil {
		return nil, err
	}
	if d.value.Equal(want) {
		return raw, nil
	}
	for try := 0; found && try < attempts; try++ {
		last := d.root == nil || d.root.forced
		out, ok := d.attempt(want)
		if ok {
			return out, nil
		}
		found = !last
	}
	return d.rewrite(want)
}

// attempt edits the text and checks what came out. When that is not what is wanted, the part around the first difference
// is marked to be written anew by the next attempt.
func (d *document) attempt(want *value.Value) ([]byte, bool) {
	e := &editor{document: d, changed: anchors{}, paired: map[pairing]*node{}}
	if d.root == nil {
		e.fill(d.intro(), want)
	} else {
		e.sync(d.root, change{old: d.value, want: want})
	}
	out, ok := d.apply(e.edits, 0, len(d.raw), d.style.nl)
	if ok {
		_, got, err := parse(out)
		if err == nil && got.Equal(want) && (!d.style.json || isJSON(out)) {
			return out, true
		}
		if err == nil && d.root != nil {
			e.differs(d.root, change{old: d.value, want: want}, got).force()
			return nil, false
		}
	}
	e.forceEdited()
	return nil, false
}

// intro is where the root of a text without a document may begin.
func (d *document) intro() int { return (&layout{text: d.text}).prologue() }

// rewrite writes the whole text anew.
func (d *document) rewrite(want *value.Value) ([]byte, error) {
	styles := []style{d.style, plainStyle()}
	styles[1].nl = d.style.nl
	for _, s := range styles {
		out := []byte(s.document(want))
		if bytes.HasPrefix(d.raw, []byte(bom)) {
			out = append([]byte(bom), out...)
		}
		if _, got, err := parse(out); err == nil && got.Equal(want) {
			return out, nil
		}
	}
	return nil, errors.New("the value cannot be written as YAML")
}
