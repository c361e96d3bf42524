package functions

import "atelier/internal/dsul/expr/value"

// isObject(x) says whether JavaScript calls a value an object: lists and null are.
func runIsObject(c *Call) (any, error) {
	switch c.arg(0).(type) {
	case *value.Object, []any, nil:
		return true, nil
	default:
		return false, nil
	}
}
