package functions

import "math"

// max(a, b, ...) and max(list) give the greatest number; undefined when there is none.
func runMax(c *Call) (any, error) { return c.extreme(math.Max) }
