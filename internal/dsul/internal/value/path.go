package value

import (
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// ErrPath says that a path leads through a scalar, to a place that a list does not have, or is not valid UTF-8.
var ErrPath = errors.New("the path leads nowhere")

// With gives the value with one part replaced or added. A path is made of keys; in a list, of places, where its length
// or "-" adds an item. Mappings that the path needs and that are missing are made.
func (v *Value) With(path []string, part *Value) (*Value, error) {
	if len(path) == 0 {
		return part.check()
	}
	switch v.Kind {
	case Null:
		return v.withKey(path, part)
	case Map:
		return v.withKey(path, part)
	case List:
		return v.withItem(path, part)
	default:
		return nil, ErrPath
	}
}

func (v *Value) withKey(path []string, part *Value) (*Value, error) {
	if !utf8.ValidString(path[0]) {
		return nil, ErrPath
	}
	at := slices.IndexFunc(v.Entries, func(e Entry) bool { return e.Name == path[0] })
	entries := slices.Clone(v.Entries)
	if at < 0 {
		at = len(entries)
		entries = append(entries, Entry{Name: path[0], Key: NewString(path[0]), Value: (&Value{}).seal()})
	}
	changed, err := entries[at].Value.With(path[1:], part)
	if err != nil {
		return nil, err
	}
	entries[at].Value = changed
	return (&Value{Kind: Map, Tag: v.Tag, Entries: entries}).seal().check()
}

func (v *Value) withItem(path []string, part *Value) (*Value, error) {
	at, ok := place(path[0], len(v.Items))
	if !ok {
		return nil, ErrPath
	}
	items := slices.Clone(v.Items)
	if at == len(items) {
		items = append(items, (&Value{}).seal())
	}
	changed, err := items[at].With(path[1:], part)
	if err != nil {
		return nil, err
	}
	items[at] = changed
	return (&Value{Kind: List, Tag: v.Tag, Items: items}).seal().check()
}

// Without gives the value with one part taken out, and the same value when it has no such part.
func (v *Value) Without(path []string) *Value {
	if len(path) == 0 {
		return (&Value{}).seal()
	}
	switch v.Kind {
	case Map:
		at := slices.IndexFunc(v.Entries, func(e Entry) bool { return e.Name == path[0] })
		if at < 0 {
			return v
		}
		entries := slices.Clone(v.Entries)
		if len(path) == 1 {
			entries = slices.Delete(entries, at, at+1)
		} else {
			entries[at].Value = entries[at].Value.Without(path[1:])
		}
		return (&Value{Kind: Map, Tag: v.Tag, Entries: entries}).seal()
	case List:
		at, ok := place(path[0], len(v.Items)-1)
		if !ok || path[0] == "-" {
			return v
		}
		items := slices.Clone(v.Items)
		if len(path) == 1 {
			items = slices.Delete(items, at, at+1)
		} else {
			items[at] = items[at].Without(path[1:])
		}
		return (&Value{Kind: List, Tag: v.Tag, Items: items}).seal()
	default:
		return v
	}
}

// place reads a place in a list, from 0 to last.
func place(text string, last int) (int, bool) {
	if text == "-" {
		return last, true
	}
	at, err := strconv.Atoi(text)
	if err != nil || at < 0 || at > last || strconv.Itoa(at) != text {
		return 0, false
	}
	return at, true
}
