package functions

import (
	"strings"

	"atelier/internal/dsul/expr/value"
)

// unsafejson(text) reads a JSON text, or the first list or object that stands in a text. It is undefined when there is
// none.
func runUnsafeJSON(c *Call) (any, error) {
	text, ok := c.arg(0).(string)
	if !ok {
		return c.arg(0), nil
	}
	if v, err := value.Decode(text); err == nil {
		return v, c.Budget.Spend(len(text))
	}
	for {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			return value.Undefined{}, nil
		}
		text = text[at:]
		if c.Budget.Spend(len(text)) != nil {
			return value.Undefined{}, nil //nolint:nilerr // it never fails: too many starts and no end is no JSON
		}
		if v, _, err := value.DecodePrefix(text); err == nil {
			return v, nil
		}
		text = text[1:]
	}
}
