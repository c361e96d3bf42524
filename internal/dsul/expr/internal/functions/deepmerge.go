package functions

import (
	"slices"

	"atelier/internal/dsul/expr/value"
)

// deepmerge(a, b[, {concatStrings}]) joins two objects, and the objects in them. Lists are put one behind the other, and
// so are texts if asked; of anything else b wins.
func runDeepmerge(c *Call) (any, error) {
	options, _ := c.arg(2).(*value.Object) // the third argument
	m := merger{call: c, texts: options != nil && value.Truthy(options.Get("concatStrings"))}
	return m.merge(c.arg(0), c.arg(1), 0)
}

type merger struct {
	call  *Call
	texts bool
}

func (m merger) merge(a, b any, depth int) (any, error) {
	if depth > value.MaxDepth {
		return b, nil
	}
	switch b := b.(type) {
	case value.Undefined:
		return a, nil
	case *value.Object:
		if a, ok := a.(*value.Object); ok {
			return m.objects(a, b, depth)
		}
	case []any:
		if a, ok := a.([]any); ok {
			return slices.Concat(a, b), m.call.Budget.Spend((len(a) + len(b)) * itemCost)
		}
	case string:
		if a, ok := a.(string); ok && m.texts {
			return a + b, m.call.Budget.Spend(len(a) + len(b))
		}
	}
	return b, nil
}

func (m merger) objects(a, b *value.Object, depth int) (any, error) {
	if err := m.call.Budget.Spend((a.Len() + b.Len()) * itemCost); err != nil {
		return nil, err
	}
	merged := value.NewObject(a.Len())
	for key, v := range a.All() {
		merged.Set(key, v)
	}
	for key, v := range b.All() {
		both, err := m.merge(merged.Get(key), v, depth+1)
		if err != nil {
			return nil, err
		}
		merged.Set(key, both)
	}
	return merged, nil
}
