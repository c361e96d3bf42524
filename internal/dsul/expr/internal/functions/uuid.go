package functions

import "fmt"

// uuid() gives a random identifier: 32 hexadecimal digits.
func runUUID(c *Call) (any, error) {
	high, low := c.Env.Random(), c.Env.Random()
	high = high&^0xf000 | 0x4000 // version 4
	low = low&^(3<<62) | 1<<63   // the usual variant
	return fmt.Sprintf("%016x%016x", high, low), nil
}
