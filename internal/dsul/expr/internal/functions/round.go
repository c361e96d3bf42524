package functions

import "math"

// round(n[, decimals]) rounds halves up: round(-2.5) is -2.
func runRound(c *Call) (any, error) {
	return c.rounded(func(n float64) float64 {
		whole := math.Floor(n)
		if n-whole >= 0.5 { // a half
			whole++
		}
		return whole
	})
}

// rounded moves the decimals before the point, rounds, and moves them back, with what gets lost on the way.
func (c *Call) rounded(round func(float64) float64) (any, error) {
	n, err := c.number(0)
	if err != nil || !c.given(1) {
		return round(n), err
	}
	decimals, err := c.number(1)
	if err != nil {
		return nil, err
	}
	factor := math.Pow(10, decimals) // decimal places
	return round(n*factor) / factor, nil
}
