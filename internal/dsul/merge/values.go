package merge

import (
	"slices"

	"atelier/internal/dsul/internal/value"
)

// sides are the values of one place. Nil means that there is nothing.
type sides struct{ base, ours, theirs *value.Value }

// are tells whether both sides are of a kind, and the base as well unless there is none.
func (s sides) are(kind value.Kind) bool {
	return s.ours != nil && s.theirs != nil && s.ours.Kind == kind && s.theirs.Kind == kind && s.ours.Tag == s.theirs.Tag &&
		(s.base == nil || s.base.Kind == kind && s.base.Tag == s.ours.Tag)
}

// spot is where values stand.
type spot struct {
	path []string
	key  string // whose values they are, empty for items of lists
}

func (s spot) below(key string) spot {
	return spot{path: append(slices.Clone(s.path), key), key: key}
}

// conflict is a place that both sides changed differently.
type conflict struct {
	sides
	path    []string
	settled bool
}

// merger merges values. What it merges does not depend on the choices, only what is in the places of conflicts does.
type merger struct {
	choices   map[string]choice
	conflicts []conflict
}

// merge gives the merged value of a place, nil for nothing.
func (m *merger) merge(at spot, v sides) *value.Value {
	if one, ok := v.agreed(at.key); ok {
		return one
	}
	switch {
	case v.are(value.Map):
		return v.or(at.key, m.maps(at, v))
	case v.are(value.List):
		return v.or(at.key, m.lists(at, v))
	default:
		return m.conflict(at, v)
	}
}

// or gives the value of the side that a merged one is equal to, which stands in a text as it is.
func (s sides) or(key string, merged *value.Value) *value.Value {
	switch {
	case same(key, merged, s.ours):
		return s.ours
	case same(key, merged, s.theirs):
		return s.theirs
	}
	return merged
}

// agreed gives the value that is not in doubt: both sides are equal, or one of them is what the base is.
func (s sides) agreed(key string) (*value.Value, bool) {
	switch {
	case same(key, s.ours, s.theirs), same(key, s.base, s.theirs):
		return s.ours, true
	case same(key, s.base, s.ours):
		return s.theirs, true
	}
	return nil, false
}

// same tells whether two values of a key are equal.
func same(key string, a, b *value.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.EqualBelow(key, b)
}

// conflict notes a conflict, and gives what was chosen, or what ours has.
func (m *merger) conflict(at spot, v sides) *value.Value {
	chosen, settled := m.choices[joined(at.path)]
	m.conflicts = append(m.conflicts, conflict{sides: v, path: append([]string{}, at.path...), settled: settled})
	switch {
	case !settled || chosen.side == Ours:
		return v.ours
	case chosen.side == Theirs:
		return v.theirs
	case chosen.side == Base:
		return v.base
	default:
		return chosen.with
	}
}

// raise makes one conflict of a whole place, in place of those inside that have been noted since.
func (m *merger) raise(at spot, v sides, since int) *value.Value {
	m.conflicts = m.conflicts[:since]
	return m.conflict(at, v)
}

func (m *merger) maps(at spot, v sides) *value.Value {
	base, ours, theirs := index(v.base), index(v.ours), index(v.theirs)
	order := orders{keys(v.base), keys(v.ours), keys(v.theirs)}
	arranged, ok := order.behind(), true
	if value.OrderMatters(at.key) {
		arranged, ok = order.merge()
	}
	if !ok {
		return m.conflict(at, v)
	}
	entries := make([]value.Entry, 0, len(arranged))
	for _, name := range arranged {
		merged := m.merge(at.below(name), sides{base[name].Value, ours[name].Value, theirs[name].Value})
		if merged == nil {
			continue
		}
		entry := ours[name]
		if entry.Key == nil {
			entry = theirs[name]
		}
		entries = append(entries, value.Entry{Name: name, Key: entry.Key, Value: merged})
	}
	return v.ours.WithEntries(entries)
}

func index(v *value.Value) map[string]value.Entry {
	if v == nil {
		return nil
	}
	entries := make(map[string]value.Entry, len(v.Entries))
	for _, entry := range v.Entries {
		entries[entry.Name] = entry
	}
	return entries
}

func keys(v *value.Value) []string {
	if v == nil {
		return nil
	}
	names := make([]string, len(v.Entries))
	for i, entry := range v.Entries {
		names[i] = entry.Name
	}
	return names
}
