package query

import "atelier/internal/dsul/expr/value"

// tally computes with values that come one after the other. What is no number is left out of sums and averages, and what does not
// exist is left out of everything.
type tally interface {
	add(v any)
	result() any
}

// total is a sum. Small parts are not lost next to large ones: what rounding took away is added in the end.
type total struct{ sum, lost float64 }

func newTotal() tally { return &total{} }

func (t *total) add(v any) {
	n, ok := v.(float64)
	if !ok {
		return
	}
	next := t.sum + n
	if abs(t.sum) >= abs(n) {
		t.lost += (t.sum - next) + n
	} else {
		t.lost += (n - next) + t.sum
	}
	t.sum = next
}

func (t *total) result() any { return t.sum + t.lost }

func abs(n float64) float64 {
	if n < 0 {
		return -n
	}
	return n
}

type average struct {
	total
	count float64
}

func newAverage() tally { return &average{} }

func (a *average) add(v any) {
	if _, ok := v.(float64); ok {
		a.count++
		a.total.add(v)
	}
}

func (a *average) result() any {
	if a.count == 0 {
		return nil
	}
	return (a.sum + a.lost) / a.count
}

// extreme is the least or the greatest value; null when there is none.
type extreme struct {
	v    any
	sign int
}

func newLeast() tally { return &extreme{sign: -1} }
func newMost() tally  { return &extreme{sign: 1} }

func (e *extreme) add(v any) {
	if value.Exists(v) && (e.v == nil || Compare(v, e.v)*e.sign > 0) {
		e.v = v
	}
}

func (e *extreme) result() any { return e.v }

type count struct{ n float64 }

func newCount() tally { return &count{} }

func (c *count) add(v any) {
	if value.Exists(v) {
		c.n++
	}
}

func (c *count) result() any { return c.n }

// edge is the first or the last value.
type edge struct {
	v           any
	seen, final bool
}

func newFirst() tally { return &edge{} }
func newLast() tally  { return &edge{final: true} }

func (e *edge) add(v any) {
	if !e.seen || e.final {
		e.v, e.seen = defined(v), true
	}
}

func (e *edge) result() any { return e.v }

// gathered is all values, or all different ones.
type gathered struct {
	list []any
	seen map[string]bool // nil when equal ones are kept
}

func newPush() tally  { return &gathered{list: []any{}} }
func newUnion() tally { return &gathered{list: []any{}, seen: map[string]bool{}} }

func (g *gathered) add(v any) {
	if (v == value.Undefined{}) {
		return
	}
	if g.seen != nil {
		key := text(v)
		if g.seen[key] {
			return
		}
		g.seen[key] = true
	}
	g.list = append(g.list, v)
}

func (g *gathered) result() any { return g.list }
