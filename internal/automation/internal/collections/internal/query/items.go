package query

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

// item is about one item of a list, which must fulfil everything.
func (c *compiler) item(operand any, depth int) ([]test, error) {
	object, ok := operand.(*value.Object)
	if !ok || object.Len() == 0 {
		return nil, invalid("$elemMatch takes conditions for an item of a list.")
	}
	if depth > maxDepth {
		return nil, invalid("Conditions may stand in each other %d deep at most; simplify the query.", maxDepth)
	}
	_, operators, err := isOperators(object)
	if err != nil && !joined(object) {
		return nil, err
	}
	inner := &compiler{conditions: c.conditions, free: 1}
	holds, err := inner.itemTest(object, operators && !joined(object), depth+1)
	c.conditions = inner.conditions
	if err != nil {
		return nil, err
	}
	return []test{{whole: true, one: func(v any) bool {
		list, _ := v.([]any)
		return slices.ContainsFunc(list, holds)
	}}}, nil
}

// joined tells that an object has what joins queries, so that it is one.
func joined(o *value.Object) bool { return o.Has("$and") || o.Has("$or") || o.Has("$nor") }

func (c *compiler) itemTest(object *value.Object, operators bool, depth int) (func(any) bool, error) {
	if !operators {
		inner, err := c.object(object, depth)
		return func(v any) bool {
			record, ok := v.(*value.Object)
			return ok && inner.match(record)
		}, err
	}
	tests, err := c.tests("", object, depth)
	return func(v any) bool {
		for _, t := range tests {
			if t.value(v) == t.negated {
				return false
			}
		}
		return true
	}, err
}

// set finds a value among many.
type set struct {
	scalars map[any]bool
	null    bool
	others  []any
}

func newSet(values []any) *set {
	s := &set{scalars: make(map[any]bool, len(values))}
	for _, v := range values {
		switch {
		case !value.Exists(v):
			s.null = true
		case Scalar(v):
			s.scalars[v] = true
		default:
			s.others = append(s.others, v)
		}
	}
	return s
}

func (s *set) has(v any) bool {
	if !value.Exists(v) {
		return s.null
	}
	if Scalar(v) {
		return s.scalars[v]
	}
	for _, other := range s.others {
		if value.DeepEqual(v, other) {
			return true
		}
	}
	return false
}
