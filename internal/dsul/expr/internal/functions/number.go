package functions

import (
	"math"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// number(text) reads the whole number that a text starts with; NaN when it starts with none.
func runNumber(c *Call) (any, error) {
	text := value.Trim(value.String(c.arg(0)))
	if err := c.Budget.Spend(len(text)); err != nil {
		return nil, err
	}
	unsigned := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if len(text)-len(unsigned) > 1 {
		return math.NaN(), nil
	}
	end := 0
	for end < len(unsigned) && unsigned[end] >= '0' && unsigned[end] <= '9' {
		end++
	}
	if end == 0 {
		return math.NaN(), nil
	}
	n := value.ParseNumber(unsigned[:end])
	if strings.HasPrefix(text, "-") {
		n = -n
	}
	return n, nil
}
