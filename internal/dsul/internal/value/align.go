package value

import (
	"cmp"
	"slices"
)

// Aligned tells, in order, which items of a list have become which of another where there is no doubt: those that are
// equal, and those between them when there are as many on both sides and each is like the one in its place. Of several in
// a row, each must also have more in common with the one in its place than with any other.
func Aligned(from, to []*Value) []Pair {
	pairs, gaps := gap{0, len(from), 0, len(to)}.match(from, to, equals)
	for _, g := range gaps {
		if alike(from[g.from:g.fromEnd], to[g.to:g.toEnd]) {
			for i := range g.fromEnd - g.from {
				pairs = append(pairs, Pair{g.from + i, g.to + i})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.From, b.From) })
	return pairs
}

// maxRow bounds how many items in a row are compared with each other.
const maxRow = 32

func alike(from, to []*Value) bool {
	if len(from) != len(to) || len(from) > maxRow {
		return false
	}
	for i, item := range from {
		if !item.like(to[i]) {
			return false
		}
	}
	return len(from) == 1 || distinct(from, to)
}

// like tells whether one value may have become the other: both are scalars, lists, or mappings with a key in common.
func (v *Value) like(other *Value) bool {
	switch {
	case v.Kind != Map || other.Kind != Map:
		return v.Kind == other.Kind || !v.Collection() && !other.Collection()
	case len(v.Entries) == 0 || len(other.Entries) == 0:
		return true
	}
	known := v.Index()
	return slices.ContainsFunc(other.Entries, func(e Entry) bool { return known[e.Name] != nil })
}

// distinct tells whether every item has more in common with the one in its place than any two others have.
func distinct(from, to []*Value) bool {
	for i, item := range from {
		own := item.common(to[i])
		for j := range from {
			if j != i && (item.common(to[j]) >= own || from[j].common(to[i]) >= own) {
				return false
			}
		}
	}
	return true
}

// common counts what two values have in common: keys, and equal scalars and empty collections in the same places.
func (v *Value) common(other *Value) int {
	switch {
	case v.Kind != other.Kind:
		return 0
	case !v.Collection() || v.Empty() && other.Empty():
		if v.Equal(other) {
			return 1
		}
		return 0
	}
	count := 0
	for i := range min(len(v.Items), len(other.Items)) {
		count += v.Items[i].common(other.Items[i])
	}
	known := v.Index()
	for _, entry := range other.Entries {
		if own := known[entry.Name]; own != nil {
			count += 1 + own.common(entry.Value)
		}
	}
	return count
}
