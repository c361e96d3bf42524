package functions

import (
	"math"

	"atelier/internal/dsul/expr/value"
)

// min(a, b, ...) and min(list) give the smallest number; undefined when there is none.
func runMin(c *Call) (any, error) { return c.extreme(math.Min) }

func (c *Call) extreme(choose func(a, b float64) float64) (any, error) {
	var found any = value.Undefined{}
	add := func(v any) {
		n := value.Number(v)
		if so, ok := found.(float64); ok {
			n = choose(so, n)
		}
		found = n
	}
	for _, arg := range c.Args {
		list, ok := arg.([]any)
		if !ok {
			add(arg)
			continue
		}
		if err := c.Budget.Spend(len(list)); err != nil {
			return nil, err
		}
		for _, item := range list {
			add(item)
		}
	}
	return found, nil
}
