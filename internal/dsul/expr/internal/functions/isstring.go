package functions

// isString(x) says whether a value is a text.
func runIsString(c *Call) (any, error) {
	_, ok := c.arg(0).(string)
	return ok, nil
}
