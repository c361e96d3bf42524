package value

import (
	"cmp"
	"slices"
	"strings"

	"atelier/internal/dsul/internal/lcs"
)

// Pair says that an item of one list has become an item of another.
type Pair struct{ From, To int }

// Pairs tells which items of a list have become which of another, in order: first those that are one and the same, then
// those that are equal, those that are called the same, those with the same keys, and what is left by its place.
func Pairs(from, to []*Value) []Pair {
	pairs := []Pair{}
	gaps := []gap{{0, len(from), 0, len(to)}}
	for _, look := range []func(*numbering, []*Value) []int{identical, equals, names, shapes} {
		var smaller []gap
		for _, g := range gaps {
			found, rest := g.match(from, to, look)
			pairs, smaller = append(pairs, found...), append(smaller, rest...)
		}
		gaps = smaller
	}
	for _, g := range gaps {
		for i := range min(g.fromEnd-g.from, g.toEnd-g.to) {
			pairs = append(pairs, Pair{g.from + i, g.to + i})
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.From, b.From) })
	return pairs
}

// gap is a stretch of both lists where nothing is paired yet.
type gap struct{ from, fromEnd, to, toEnd int }

// match pairs what gets the same number in a gap, and gives the gaps that are left.
func (g gap) match(from, to []*Value, look func(*numbering, []*Value) []int) (found []Pair, rest []gap) {
	a, b := from[g.from:g.fromEnd], to[g.to:g.toEnd]
	if len(a) == 0 || len(b) == 0 {
		return nil, nil
	}
	numbers := &numbering{}
	x, y := look(numbers, a), look(numbers, b)
	atFrom, atTo := g.from, g.to
	for _, run := range lcs.Common(x, y) {
		for i := range run.Len {
			found = append(found, Pair{g.from + run.A + i, g.to + run.B + i})
		}
		rest = append(rest, gap{atFrom, g.from + run.A, atTo, g.to + run.B})
		atFrom, atTo = g.from+run.A+run.Len, g.to+run.B+run.Len
	}
	return found, append(rest, gap{atFrom, g.fromEnd, atTo, g.toEnd})
}

// numbering gives numbers to items, the same to those that are the same in some way.
type numbering struct {
	byValue map[*Value]int
	byHash  map[uint64][]*Value
	byText  map[string]int
	last    int
}

func (n *numbering) next() int {
	n.last++
	return n.last
}

// identical numbers items by what they are in memory: lists that were made from one another share them.
func identical(n *numbering, items []*Value) []int {
	if n.byValue == nil {
		n.byValue = make(map[*Value]int, 2*len(items))
	}
	numbers := make([]int, len(items))
	for i, item := range items {
		number, known := n.byValue[item]
		if !known {
			number = n.next()
			n.byValue[item] = number
		}
		numbers[i] = number
	}
	return numbers
}

// maxAlike bounds how many different values with one sum are remembered: more than one is made on purpose.
const maxAlike = 4

// equals numbers items by what they mean.
func equals(n *numbering, items []*Value) []int {
	if n.byHash == nil {
		n.byHash = make(map[uint64][]*Value, 2*len(items))
	}
	firsts := make([]*Value, len(items))
	for i, item := range items {
		same := n.byHash[item.hash]
		if at := slices.IndexFunc(same, item.Equal); at >= 0 {
			firsts[i] = same[at]
			continue
		}
		firsts[i] = item
		if len(same) < maxAlike {
			n.byHash[item.hash] = append(same, item)
		}
	}
	return identical(n, firsts)
}

// texts numbers items by texts that stand for them; no text is like no other.
func (n *numbering) texts(items []*Value, of func(*Value) string) []int {
	if n.byText == nil {
		n.byText = make(map[string]int, 2*len(items))
	}
	numbers := make([]int, len(items))
	for i, item := range items {
		text := of(item)
		number, known := n.byText[text]
		if !known || text == "" {
			number = n.next()
			n.byText[text] = number
		}
		numbers[i] = number
	}
	return numbers
}

// names numbers items by what they are called.
func names(n *numbering, items []*Value) []int {
	return n.texts(items, func(item *Value) string {
		for _, key := range identities() {
			if name, ok := item.identity(key); ok {
				return key + "=" + name
			}
		}
		return ""
	})
}

// shapes numbers mappings by their keys: an instruction is more like another of its kind than like any other.
func shapes(n *numbering, items []*Value) []int {
	return n.texts(items, func(item *Value) string {
		var keys []string
		for _, entry := range item.Entries {
			keys = append(keys, entry.Name)
		}
		slices.Sort(keys)
		return strings.Join(keys, "\x00")
	})
}
