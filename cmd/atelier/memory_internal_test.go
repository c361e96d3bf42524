package main

import "testing"

// Where little lives the heap may grow to five times of it, where much lives by the room that there is, and never by less than
// a quarter.
func TestGrowthFallsAsMoreLives(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	last := mostGrowth
	for _, c := range []struct {
		living uint64
		want   int
	}{{0, mostGrowth}, {12 * mebibyte, mostGrowth}, {48 * mebibyte, 100}, {96 * mebibyte, 50}, {400 * mebibyte, leastGrowth}, {1 << 40, leastGrowth}} {
		got := growth(c.living)
		if got != c.want || got > last {
			t.Errorf("with %d living bytes: %d %%, want %d %%", c.living, got, c.want)
		}
		last = got
	}
	if living() == 0 {
		t.Error("nothing lives")
	}
}
