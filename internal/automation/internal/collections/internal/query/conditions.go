package query

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

// all is no condition.
type all struct{}

func (all) match(*value.Object) bool { return true }
func (all) always() bool             { return true }

// every joins conditions that must all hold.
type every []condition

func (e every) match(record *value.Object) bool {
	for _, part := range e {
		if !part.match(record) {
			return false
		}
	}
	return true
}

func (e every) always() bool {
	for _, part := range e {
		if !part.always() {
			return false
		}
	}
	return true
}

// either joins conditions of which one must hold.
type either []condition

func (e either) match(record *value.Object) bool {
	for _, part := range e {
		if part.match(record) {
			return true
		}
	}
	return false
}

func (e either) always() bool {
	for _, part := range e {
		if part.always() {
			return true
		}
	}
	return false
}

// not is the opposite of a condition.
type not struct{ condition }

func (n not) match(record *value.Object) bool { return !n.condition.match(record) }
func (n not) always() bool                    { return false }

// at is what is said of a field: all tests must hold.
type at struct {
	path  []string
	tests []test
}

func (a at) match(record *value.Object) bool {
	for _, t := range a.tests {
		if t.holds(record, a.path) == t.negated {
			return false
		}
	}
	return true
}

func (a at) always() bool { return len(a.tests) == 0 }

// test is one operator of a field. It holds when one of the values that the path leads to fulfils it, and a negated one when none does.
type test struct {
	negated bool
	one     func(v any) bool
	// whole tells that a list is looked at as such, not item by item.
	whole bool
}

func (t test) holds(record *value.Object, path []string) bool {
	return lead(record, path, t.value)
}

// value tells whether a value fulfils the test, or is a list with an item that does.
func (t test) value(v any) bool {
	if t.one(v) {
		return true
	}
	list, ok := v.([]any)
	if !ok || t.whole {
		return false
	}
	return slices.ContainsFunc(list, t.one)
}

// lead follows a path and calls found for what it leads to until that is true: several values when there are lists of objects on the
// way, and undefined when there is nothing.
func lead(v any, path []string, found func(any) bool) bool {
	if len(path) == 0 {
		return found(v)
	}
	switch v := v.(type) {
	case *value.Object:
		return lead(v.Get(path[0]), path[1:], found)
	case []any:
		return leadThrough(v, path, found)
	default:
		return found(value.Undefined{})
	}
}

func leadThrough(list []any, path []string, found func(any) bool) bool {
	objects := false
	for _, item := range list {
		if object, ok := item.(*value.Object); ok {
			objects = true
			if lead(object, path, found) {
				return true
			}
		}
	}
	if item := value.Get(list, path[0]); path[0] != "length" && (item != value.Undefined{}) {
		return lead(item, path[1:], found)
	}
	return !objects && found(value.Undefined{})
}

// Lookup gives the value that a path leads to: a list of them when there are lists of objects on the way.
func Lookup(record *value.Object, path []string) any {
	if len(path) == 1 {
		return record.Get(path[0])
	}
	var values []any
	lead(record, path, func(v any) bool {
		values = append(values, v)
		return false
	})
	switch len(values) {
	case 0:
		return value.Undefined{}
	case 1:
		return values[0]
	default:
		return values
	}
}
