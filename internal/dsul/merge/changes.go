package merge

import (
	"cmp"
	"slices"
	"strings"

	"atelier/internal/dsul/compare"
)

// changes are what two texts have changed in a base, line by line.
type changes struct {
	base, ours, theirs []string
	own                []compare.Stretch // from the base to ours
	others             []compare.Stretch // from the base to theirs, without those that overlap one of ours
}

func newChanges(base, ours, theirs []byte) *changes {
	c := &changes{base: lines(base), ours: lines(ours), theirs: lines(theirs)}
	c.own = compare.Lines(c.base, c.ours)
	next := 0
	for _, other := range compare.Lines(c.base, c.theirs) {
		for next < len(c.own) && c.own[next].FromEnd < other.From {
			next++
		}
		if !slices.ContainsFunc(c.near(next, other), func(own compare.Stretch) bool { return c.overlap(own, other) }) {
			c.others = append(c.others, other)
		}
	}
	return c
}

// lines cuts a text into lines without their ends. A text that ends with a line end has an empty line behind it.
func lines(text []byte) []string { return strings.Split(string(text), "\n") }

// near gives the stretches of ours, from one on, that begin before another ends.
func (c *changes) near(from int, other compare.Stretch) []compare.Stretch {
	to := from
	for to < len(c.own) && c.own[to].From <= other.FromEnd {
		to++
	}
	return c.own[from:to]
}

// overlap tells whether two stretches share lines of the base, or one of ours has all that theirs adds there. Those that
// only touch do not overlap.
func (c *changes) overlap(own, other compare.Stretch) bool {
	if own.From < other.FromEnd && other.From < own.FromEnd {
		return true
	}
	same := own.From == other.From && own.FromEnd == other.FromEnd
	if !same && other.From < other.FromEnd {
		return false
	}
	return strings.Contains(whole(c.ours[own.To:own.ToEnd]), whole(c.theirs[other.To:other.ToEnd]))
}

// whole puts lines together so that they are found only as whole lines.
func whole(lines []string) string {
	return "\n" + strings.Join(append(lines[:len(lines):len(lines)], ""), "\n")
}

// apply gives the text of ours with some changes of theirs. Where both add lines, those of ours come first.
func (c *changes) apply(some []compare.Stretch) []byte {
	type change struct {
		compare.Stretch
		from []string
	}
	all := make([]change, 0, len(c.own)+len(some))
	for _, one := range c.own {
		all = append(all, change{one, c.ours})
	}
	for _, one := range some {
		all = append(all, change{one, c.theirs})
	}
	slices.SortStableFunc(all, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(min(a.FromEnd-a.From, 1), min(b.FromEnd-b.From, 1)))
	})
	var merged []string
	at := 0
	for _, one := range all {
		merged = append(append(merged, c.base[at:one.From]...), one.from[one.To:one.ToEnd]...)
		at = one.FromEnd
	}
	return []byte(strings.Join(append(merged, c.base[at:]...), "\n"))
}
