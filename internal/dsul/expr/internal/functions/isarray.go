package functions

// isArray(x) says whether a value is a list.
func runIsArray(c *Call) (any, error) {
	_, ok := c.arg(0).([]any)
	return ok, nil
}
