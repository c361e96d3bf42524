package functions

import "math"

// rand() gives a number from 0 to 1, without 1; rand(min, max) a whole number from min to max, without max.
func runRand(c *Call) (any, error) {
	n := float64(c.Env.Random()>>11) / (1 << 53) // as many bits as a number holds
	if len(c.Args) == 0 {
		return n, nil
	}
	low, err := c.number(0)
	if err != nil {
		return nil, err
	}
	high, err := c.number(1)
	if err != nil {
		return nil, err
	}
	return math.Floor(n*max(high-low, 0)) + low, nil
}
