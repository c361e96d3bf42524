// Package lcs finds what two sequences have in common, in order. It is Myers' algorithm in linear space, with a bound on
// its work: what is too different to be matched in time is left unmatched, so that the result is always right, though not
// always the longest.
package lcs

import "slices"

// budget is how many steps one comparison may take: some ten milliseconds.
const budget = 4 << 20

// patience is how far one search for the middle of two stretches goes before it takes the best middle it has seen.
const patience = 512

// Run is a common stretch: Len elements from A in the first sequence equal those from B in the second.
type Run struct{ A, B, Len int }

// Common finds common runs of two sequences, in order and without overlap. Elements are numbers that were counted out: not
// negative, and not much larger than there are elements.
func Common(a, b []int) []Run {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	runs := add(nil, Run{A: 0, B: 0, Len: head})
	for _, run := range middle(a[head:len(a)-tail], b[head:len(b)-tail]) {
		runs = add(runs, Run{A: run.A + head, B: run.B + head, Len: run.Len})
	}
	return add(runs, Run{A: len(a) - tail, B: len(b) - tail, Len: tail})
}

// add appends a run, or makes the last one longer when it goes on there.
func add(runs []Run, run Run) []Run {
	if run.Len == 0 {
		return runs
	}
	if n := len(runs); n > 0 && runs[n-1].A+runs[n-1].Len == run.A && runs[n-1].B+runs[n-1].Len == run.B {
		runs[n-1].Len += run.Len
		return runs
	}
	return append(runs, run)
}

// middle compares what is left between the common ends. Elements that the other side does not have at all can never
// match: they are taken out before the search, which leaves it little to do in the usual case.
func middle(a, b []int) []Run {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	atA, atB := shared(a, b), shared(b, a)
	s := newSearch(pick(a, atA), pick(b, atB))
	s.compare(box{left: 0, right: len(s.a), top: 0, bottom: len(s.b)})
	var runs []Run
	x, y := 0, 0
	for x < len(s.a) && y < len(s.b) {
		switch {
		case s.lostA[x]:
			x++
		case s.lostB[y]:
			y++
		default:
			runs = add(runs, Run{A: atA[x], B: atB[y], Len: 1})
			x++
			y++
		}
	}
	return runs
}

// shared gives the places of a's elements that b has as well.
func shared(a, b []int) []int {
	has := make([]bool, slices.Max(b)+1)
	for _, element := range b {
		has[element] = true
	}
	var places []int
	for i, element := range a {
		if element < len(has) && has[element] {
			places = append(places, i)
		}
	}
	return places
}

func pick(a, places []int) []int {
	picked := make([]int, len(places))
	for i, place := range places {
		picked[i] = a[place]
	}
	return picked
}
