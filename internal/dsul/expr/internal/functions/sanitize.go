package functions

import "strings"

// sanitize(text) writes < and > so that no markup is left, and takes away characters such as emoji, which some systems
// cannot store.
func runSanitize(c *Call) (any, error) {
	return c.mapped(func(text string) string {
		text = strings.Map(func(r rune) rune {
			if r > 0xffff { // the last character of the basic plane
				return -1
			}
			return r
		}, text)
		return strings.NewReplacer("<", "&#60;", ">", "&#62;").Replace(text)
	})
}
