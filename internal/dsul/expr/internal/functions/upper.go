package functions

import "strings"

// upper(text) writes a text in capital letters.
func runUpper(c *Call) (any, error) { return c.mapped(strings.ToUpper) }
