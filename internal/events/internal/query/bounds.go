package query

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"

	"atelier/internal/bus"
)

// bounds holds when a value at the path lies between others: numbers between numbers, texts between texts.
type bounds struct {
	path  string
	sides []side
}

// side is one bound.
type side struct {
	op     string
	number float64
	text   string
	isText bool
}

func (n bounds) match(d *Document) bool {
	return d.some(n.path, func(value any) bool {
		for _, s := range n.sides {
			if !s.admits(value) {
				return false
			}
		}
		return true
	})
}

func (n bounds) asks(path string) bool { return n.path == path }

func (s side) admits(value any) bool {
	if s.isText {
		text, ok := value.(string)
		return ok && s.holds(strings.Compare(text, s.text))
	}
	number, ok := numberOf(value)
	return ok && s.holds(cmp.Compare(number, s.number))
}

func (s side) holds(order int) bool {
	switch s.op {
	case opGT:
		return order > 0
	case opGTE:
		return order >= 0
	case opLT:
		return order < 0
	default:
		return order <= 0
	}
}

// The comparisons of ranges.
const (
	opGT  = "gt"
	opGTE = "gte"
	opLT  = "lt"
	opLTE = "lte"
)

// newSide makes a bound of a value; false when it is neither a text nor a number.
func newSide(op string, value any) (side, bool) {
	switch v := value.(type) {
	case string:
		return side{op: op, text: v, isText: true}, true
	case json.Number:
		n, _ := numberOf(v)
		return side{op: op, number: n}, !math.IsNaN(n)
	default:
		return side{}, false
	}
}

// narrow bounds a span by a time.
func (n span) narrow(op string, t time.Time) span {
	switch op {
	case opGT:
		n.after = max(n.after, since(floorMillis(t)+1))
	case opGTE:
		n.after = max(n.after, since(ceilMillis(t)))
	case opLT:
		n.before = lower(n.before, until(ceilMillis(t)))
	default:
		n.before = lower(n.before, until(floorMillis(t)+1))
	}
	return n
}

// narrowID bounds a span by the id of an event.
func (n span) narrowID(op string, at bus.Position) span {
	switch op {
	case opGT:
		n.after = max(n.after, at)
	case opGTE:
		n.after = max(n.after, at-1)
	case opLT:
		n.before = lower(n.before, at)
	default:
		n.before = lower(n.before, at+1)
	}
	return n
}

// lower is the lower of two bounds, of which the first may not be set. A bound before the first event is one that nothing
// is below.
func lower(bound, other bus.Position) bus.Position {
	other = max(other, 1)
	if bound == 0 {
		return other
	}
	return min(bound, other)
}
