package functions

// isNumber(x) says whether a value is a number.
func runIsNumber(c *Call) (any, error) {
	_, ok := c.arg(0).(float64)
	return ok, nil
}
