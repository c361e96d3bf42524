package merge

import (
	"slices"
	"strconv"

	"atelier/internal/dsul/internal/value"
)

func (s spot) item(place int) spot {
	return spot{path: append(slices.Clone(s.path), strconv.Itoa(place))}
}

func items(v *value.Value) []*value.Value {
	if v == nil {
		return nil
	}
	return v.Items
}

func (m *merger) lists(at spot, v sides) *value.Value {
	if _, names, ok := value.Names(items(v.base), v.ours.Items, v.theirs.Items); ok {
		return m.named(at, v, orders{names[0], names[1], names[2]})
	}
	return m.sequence(at, v)
}

// named merges lists whose items are known by names.
func (m *merger) named(at spot, v sides, names orders) *value.Value {
	arranged, ok := names.merge()
	if !ok {
		return m.conflict(at, v)
	}
	since := len(m.conflicts)
	base, ours, theirs := places(names.base), places(names.ours), places(names.theirs)
	inOurs, inTheirs := map[int]bool{}, map[int]bool{}
	merged := make([]*value.Value, 0, len(arranged))
	for _, name := range arranged {
		before := len(m.conflicts)
		there := sides{base.item(name, items(v.base)), ours.item(name, v.ours.Items), theirs.item(name, v.theirs.Items)}
		item := m.merge(at.item(ours.or(name, theirs)), there)
		if len(m.conflicts) > before {
			// Two items that only one side has may have the same place: then only the list as a whole can be named.
			if inOurs[ours.or(name, theirs)] || inTheirs[theirs.or(name, ours)] {
				return m.raise(at, v, since)
			}
			inOurs[ours.or(name, theirs)], inTheirs[theirs.or(name, ours)] = true, true
		}
		if item != nil {
			merged = append(merged, item)
		}
	}
	return v.ours.WithItems(merged)
}

// placed are the places of names in a list.
type placed map[string]int

func places(names []string) placed {
	found := make(placed, len(names))
	for i, name := range names {
		found[name] = i
	}
	return found
}

func (p placed) item(name string, items []*value.Value) *value.Value {
	if place, known := p[name]; known {
		return items[place]
	}
	return nil
}

// or is the place of a name, that in another list when it is not in this one.
func (p placed) or(name string, other placed) int {
	if place, known := p[name]; known {
		return place
	}
	return other[name]
}

// sequence merges lists by what their items hold: those of the base that both sides still have divide the lists into
// stretches, of which one side at most may have changed each.
func (m *merger) sequence(at spot, v sides) *value.Value {
	s := newStretches(items(v.base), v.ours.Items, v.theirs.Items)
	since := len(m.conflicts)
	var merged []*value.Value
	for s.next() {
		between, ok := s.between()
		if !ok {
			return m.raise(at, v, since)
		}
		merged = append(merged, between...)
		if s.at == len(s.base) {
			break
		}
		place, there := s.item()
		item, ok := m.item(at.item(place), there)
		if !ok {
			return m.raise(at, v, since)
		}
		if item != nil {
			merged = append(merged, item)
		}
	}
	return v.ours.WithItems(merged)
}

// item merges an item of the base that both sides still have. Inside it when it is a mapping or a list on all sides.
func (m *merger) item(at spot, v sides) (merged *value.Value, ok bool) {
	if one, ok := v.agreed(""); ok {
		return one, true
	}
	if !v.are(value.Map) && !v.are(value.List) {
		return nil, false
	}
	return m.merge(at, v), true
}

// stretches walks along three lists, from one item that all of them have to the next.
type stretches struct {
	base, ours, theirs []*value.Value
	toOurs, toTheirs   []int // the places of the base's items on the sides, -1 for those that are gone

	from, fromOurs, fromTheirs int // where the stretch begins
	at, atOurs, atTheirs       int // where it ends
}

func newStretches(base, ours, theirs []*value.Value) *stretches {
	return &stretches{
		base: base, ours: ours, theirs: theirs,
		toOurs: partners(base, ours), toTheirs: partners(base, theirs),
		at: -1, atOurs: -1, atTheirs: -1,
	}
}

func partners(base, side []*value.Value) []int {
	partners := slices.Repeat([]int{-1}, len(base))
	for _, pair := range value.Aligned(base, side) {
		partners[pair.From] = pair.To
	}
	return partners
}

// next goes to the next item that all lists have, or to their ends; it is false when there is no more.
func (s *stretches) next() bool {
	if s.at == len(s.base) {
		return false
	}
	s.from, s.fromOurs, s.fromTheirs = s.at+1, s.atOurs+1, s.atTheirs+1
	for s.at++; s.at < len(s.base); s.at++ {
		if s.toOurs[s.at] >= 0 && s.toTheirs[s.at] >= 0 {
			s.atOurs, s.atTheirs = s.toOurs[s.at], s.toTheirs[s.at]
			return true
		}
	}
	s.atOurs, s.atTheirs = len(s.ours), len(s.theirs)
	return true
}

// item is the item at the end of the stretch, with its place in ours.
func (s *stretches) item() (place int, v sides) {
	return s.atOurs, sides{s.base[s.at], s.ours[s.atOurs], s.theirs[s.atTheirs]}
}

// between merges the stretch before the item. ok is false when both sides changed it differently.
func (s *stretches) between() (merged []*value.Value, ok bool) {
	base, ours, theirs := s.base[s.from:s.at], s.ours[s.fromOurs:s.atOurs], s.theirs[s.fromTheirs:s.atTheirs]
	equal := func(a, b []*value.Value) bool { return slices.EqualFunc(a, b, (*value.Value).Equal) }
	switch {
	case equal(base, theirs), equal(ours, theirs):
		return ours, true
	case equal(base, ours):
		return theirs, true
	case s.shorter(s.toOurs, s.ours, len(ours)) && s.shorter(s.toTheirs, s.theirs, len(theirs)):
		return nil, true // each took out what the other left
	}
	return nil, false
}

// shorter tells whether a side took items out of the stretch and did nothing else.
func (s *stretches) shorter(partners []int, side []*value.Value, left int) bool {
	for i := s.from; i < s.at; i++ {
		if place := partners[i]; place >= 0 && side[place].Equal(s.base[i]) {
			left--
		}
	}
	return left == 0
}
