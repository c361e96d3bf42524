package functions

import "math"

// floor(n[, decimals]) rounds down.
func runFloor(c *Call) (any, error) { return c.rounded(math.Floor) }
