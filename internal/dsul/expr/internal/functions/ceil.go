package functions

import "math"

// ceil(n[, decimals]) rounds up.
func runCeil(c *Call) (any, error) { return c.rounded(math.Ceil) }
