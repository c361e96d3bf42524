package functions

import (
	"fmt"

	"atelier/internal/dsul/expr/value"
)

// json(x) reads a JSON text, and writes anything else as JSON.
func runJSON(c *Call) (any, error) {
	switch v := c.arg(0).(type) {
	case value.Undefined:
		return v, nil
	case string:
		if err := c.Budget.Spend(len(v)); err != nil {
			return nil, err
		}
		decoded, err := value.Decode(v)
		if err != nil {
			return nil, fmt.Errorf("the text is not JSON: %w", err)
		}
		return decoded, nil
	default:
		return c.Budget.JSON(v, "")
	}
}
