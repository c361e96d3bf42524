package query

import (
	"maps"
	"slices"
	"unicode/utf8"
)

// Condition is a query in the language of search engines over the fields that an index has of events: type, position, and
// terms, words and depth of Entry.
type Condition map[string]any

// maxConditions is how many conditions a search engine is asked to look at; some refuse more than a thousand.
const maxConditions = 500

// Condition translates the filter. Every event that matches the filter fulfils the condition; when it is exact, no other does.
func (f Filter) Condition() (condition Condition, exact bool) {
	if f.root == nil {
		return everything(), true
	}
	t := &translation{}
	condition, exact = t.of(f.root)
	if t.count > maxConditions {
		return everything(), false
	}
	return condition, exact
}

// OneOf asks for events that have, at every path of one of the alternatives, one of its texts. Paths that are none of an event
// are not looked at.
func OneOf(alternatives []map[string][]string) Filter {
	parts := make([]node, 0, len(alternatives))
	for _, alternative := range alternatives {
		one := all{}
		for _, path := range slices.Sorted(maps.Keys(alternative)) {
			if clean, ok := cleanPath(path); !ok || clean != path || isOuter(path) && path != fieldType {
				continue
			}
			values := make([]any, 0, len(alternative[path]))
			for _, text := range alternative[path] {
				values = append(values, text)
			}
			one = append(one, newTerm(path, false, values...))
		}
		parts = append(parts, one)
	}
	if len(parts) == 0 {
		return Filter{root: never{}}
	}
	return Filter{root: either(parts)}
}

func everything() Condition { return Condition{"match_all": map[string]any{}} }
func nothing() Condition    { return Condition{"match_none": map[string]any{}} }

func among(field string, values any) Condition {
	return Condition{"terms": map[string]any{field: values}}
}

func every(parts []Condition) Condition {
	return Condition{"bool": map[string]any{"filter": parts}}
}

func without(part Condition) Condition {
	return Condition{"bool": map[string]any{"must_not": []Condition{part}}}
}

func ranged(field string, bounds map[string]any) Condition {
	return Condition{"range": map[string]any{field: bounds}}
}

// translation counts what it has translated.
type translation struct{ count int }

func (t *translation) of(n node) (Condition, bool) {
	t.count++
	switch n := n.(type) {
	case all:
		parts, exact := t.each(n)
		return every(parts), exact
	case some:
		if n.least <= 0 {
			return everything(), true
		}
		if n.least > len(n.parts) {
			return nothing(), true
		}
		parts, exact := t.each(n.parts)
		return Condition{"bool": map[string]any{"should": parts, "minimum_should_match": n.least}}, exact
	case not:
		part, exact := t.of(n.part)
		if !exact {
			return everything(), false
		}
		return without(part), true
	case never:
		return nothing(), true
	case anything:
		return everything(), true
	default:
		return leaf(n)
	}
}

func (t *translation) each(nodes []node) (parts []Condition, exact bool) {
	parts, exact = make([]Condition, 0, len(nodes)), true
	for _, n := range nodes {
		part, sure := t.of(n)
		parts, exact = append(parts, part), exact && sure
	}
	return parts, exact
}

// leaf translates a condition that has no parts.
func leaf(n node) (Condition, bool) {
	switch n := n.(type) {
	case term:
		return n.condition()
	case like:
		return n.condition()
	case exists:
		if isOuter(n.path) {
			return everything(), true
		}
		return among("terms", []string{pathTerm(n.path)}), plainPath(n.path)
	case span:
		bounds := map[string]any{"gt": int64(n.after)}
		if n.before > 0 {
			bounds["lt"] = int64(n.before)
		}
		return ranged("position", bounds), true
	case ids:
		return among("position", n.positions()), true
	case shallow:
		return without(ranged("depth", map[string]any{"gt": n.depth})), true
	case bounds:
		return somethingAt(n.path), false
	case match:
		return n.condition(), false
	case phrase:
		return n.condition(), false
	default:
		return everything(), false
	}
}

func (n term) condition() (Condition, bool) {
	switch {
	case n.fold || isOuter(n.path) && n.path != fieldType:
		return somethingAt(n.path), false
	case n.path == fieldType:
		return among(fieldType, n.texts()), true
	}
	var terms []string
	for _, text := range n.texts() {
		if utf8.ValidString(text) { // no event has any other
			terms = append(terms, textTerm(n.path, text))
		}
	}
	for _, number := range slices.Sorted(maps.Keys(n.numbers)) {
		terms = append(terms, compress(pathTerm(n.path)+"#"+number))
	}
	if len(terms) == 0 {
		return nothing(), true
	}
	return among("terms", terms), plainPath(n.path)
}

func (n like) condition() (Condition, bool) {
	if n.path == fieldType && n.pattern.general == nil {
		return Condition{"prefix": map[string]any{fieldType: n.pattern.pieces[0]}}, false
	}
	return somethingAt(n.path), false
}

// somethingAt asks for any value at a path.
func somethingAt(path string) Condition {
	if isOuter(path) {
		return everything()
	}
	return among("terms", []string{pathTerm(path)})
}

func (n match) condition() Condition {
	parts := []Condition{somethingAt(n.path)}
	if n.every {
		for _, word := range n.words {
			parts = append(parts, among("words", []string{cut(word)}))
		}
		return every(parts)
	}
	there := make([]string, 0, len(n.words))
	for _, word := range n.words {
		there = append(there, cut(word))
	}
	return every(append(parts, among("words", there)))
}

func (n phrase) condition() Condition {
	var parts []Condition
	for i, word := range n.words {
		if n.open && i == len(n.words)-1 {
			parts = append(parts, Condition{"prefix": map[string]any{"words": cut(word)}})
			continue
		}
		parts = append(parts, among("words", []string{cut(word)}))
	}
	return every(parts)
}
