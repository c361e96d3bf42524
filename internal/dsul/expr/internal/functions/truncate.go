package functions

import (
	"math"

	"atelier/internal/dsul/expr/value"
)

// defaultTruncation is how long a text may be when truncate() is not told.
const defaultTruncation = 30

// truncate(text[, length[, ellipsis]]) cuts a text that is too long, and ends it with dots: the length counts them.
func runTruncate(c *Call) (any, error) {
	text, ok, err := c.scalarText(0)
	if err != nil || !ok {
		return value.Undefined{}, err
	}
	length, ellipsis := float64(defaultTruncation), "..."
	if c.given(1) {
		if length, err = c.number(1); err != nil {
			return nil, err
		}
	}
	if c.given(2) { // the third argument
		if ellipsis, err = c.text(2); err != nil {
			return nil, err
		}
	}
	if float64(value.Length(text)) <= length || math.IsNaN(length) {
		return text, nil
	}
	keep := max(int(length)-value.Length(ellipsis), 0)
	return value.Slice(text, 0, keep) + ellipsis, nil
}
