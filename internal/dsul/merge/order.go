package merge

import "slices"

// orders are the names of keys or items in the order of each text.
type orders struct{ base, ours, theirs []string }

// merge puts the names of both sides into one order: that of the side that changed it. Names that a side added stand behind
// those they stand behind there; at the same spot, those of ours come first. ok is false when both sides changed the order
// differently.
func (o orders) merge() (names []string, ok bool) {
	inBase, inOurs, inTheirs := set(o.base), set(o.ours), set(o.theirs)
	ours, theirs := only(o.ours, inTheirs), only(o.theirs, inOurs)
	if slices.Equal(ours, theirs) {
		return o.behind(), true
	}
	base := only(only(o.base, inOurs), inTheirs)
	oursMoved, theirsMoved := !slices.Equal(only(ours, inBase), base), !slices.Equal(only(theirs, inBase), base)
	switch {
	case oursMoved == theirsMoved: // both, or neither: then what both added stands in different places
		return nil, false
	case oursMoved:
		return o.behind(), true
	default:
		return o.before(), true
	}
}

// behind takes the order of ours, with what only theirs has behind what it follows there, and behind what ours added there.
func (o orders) behind() []string {
	inBase, inTheirs := set(o.base), set(o.theirs)
	guests, arranged := guests(o.ours, o.theirs)
	waiting := guests[-1]
	for i, name := range o.ours {
		if inBase[name] || inTheirs[name] {
			arranged, waiting = append(arranged, waiting...), nil
		}
		arranged = append(arranged, name)
		waiting = append(waiting, guests[i]...)
	}
	return append(arranged, waiting...)
}

// before takes the order of theirs, with what only ours has directly behind what it follows there.
func (o orders) before() []string {
	guests, arranged := guests(o.theirs, o.ours)
	arranged = append(arranged, guests[-1]...)
	for i, name := range o.theirs {
		arranged = append(append(arranged, name), guests[i]...)
	}
	return arranged
}

// guests gives the names that hosts do not have by the place of the host that they follow, -1 for none. arranged is empty,
// with room for all names.
func guests(hosts, names []string) (following map[int][]string, arranged []string) {
	places := make(map[string]int, len(hosts))
	for i, name := range hosts {
		places[name] = i
	}
	following = map[int][]string{}
	at := -1
	for _, name := range names {
		if place, known := places[name]; known {
			at = place
		} else {
			following[at] = append(following[at], name)
		}
	}
	return following, make([]string, 0, len(hosts)+len(names))
}

func set(names []string) map[string]bool {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	return known
}

// only gives the names that are in a set.
func only(names []string, in map[string]bool) []string {
	var found []string
	for _, name := range names {
		if in[name] {
			found = append(found, name)
		}
	}
	return found
}
