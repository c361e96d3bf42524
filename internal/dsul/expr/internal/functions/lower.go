package functions

import (
	"strings"

	"atelier/internal/dsul/expr/value"
)

// lower(text) writes a text in small letters.
func runLower(c *Call) (any, error) { return c.mapped(strings.ToLower) }

// mapped changes a text; what is absent stays undefined.
func (c *Call) mapped(change func(string) string) (any, error) {
	text, ok, err := c.scalarText(0)
	if err != nil || !ok {
		return value.Undefined{}, err
	}
	return change(text), nil
}
