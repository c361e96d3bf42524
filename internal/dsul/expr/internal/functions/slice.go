package functions

import (
	"math"
	"slices"

	"atelier/internal/dsul/expr/value"
)

// slice(x, start[, end]) gives a part of a list or a text. A negative place counts from the end.
func runSlice(c *Call) (any, error) {
	length := 0
	switch x := c.arg(0).(type) {
	case []any:
		length = len(x)
	case string:
		length = value.Length(x)
	default:
		return nil, c.wrong(0, "a list or a text")
	}
	start, err := c.number(1)
	if err != nil {
		return nil, err
	}
	end := float64(length)
	if c.arg(2) != any(value.Undefined{}) {
		if end, err = c.number(2); err != nil {
			return nil, err
		}
	}
	from := place(start, length)
	to := max(place(end, length), from)
	if err := c.Budget.Spend(length); err != nil {
		return nil, err
	}
	if text, ok := c.arg(0).(string); ok {
		return value.Slice(text, from, to), nil
	}
	list, _ := c.arg(0).([]any)
	return slices.Clone(list[from:to:to]), nil
}

// place is a place in a list of some length.
func place(n float64, length int) int {
	if math.IsNaN(n) {
		return 0
	}
	if n < 0 {
		n = math.Ceil(n) + float64(length)
	}
	return int(min(max(n, 0), float64(length)))
}
