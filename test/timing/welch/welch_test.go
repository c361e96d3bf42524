package welch_test

import (
	"math"
	"testing"

	"atelier/test/timing/welch"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// The first values of t were computed with another program.
func TestTheStatisticIsWelchs(t *testing.T) {
	t.Parallel()
	a := welch.Of(27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4)
	b := welch.Of(27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4)
	if got := welch.T(a, b); !near(got, -2.852954870171521) {
		t.Errorf("t of equal counts is %v", got)
	}
	c := welch.Of(17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8)
	d := welch.Of(21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8)
	if got := welch.T(c, d); !near(got, -1.5654335235985073) {
		t.Errorf("t of different counts is %v", got)
	}
	// Means 3 and 5, variances 2.5 and 10, five values each: t = -2/sqrt(0.5+2).
	if got := welch.T(welch.Of(1, 2, 3, 4, 5), welch.Of(1, 3, 5, 7, 9)); !near(got, -2/math.Sqrt(2.5)) {
		t.Errorf("t is %v, want %v", got, -2/math.Sqrt(2.5))
	}
}

func TestSeriesThatSayLittle(t *testing.T) {
	t.Parallel()
	if got := welch.T(welch.Of(7, 7, 7), welch.Of(7, 7)); got != 0 {
		t.Errorf("equal constants: %v", got)
	}
	if got := welch.T(welch.Of(8, 8, 8), welch.Of(7, 7)); !math.IsInf(got, 1) {
		t.Errorf("different constants: %v", got)
	}
	if got := welch.T(welch.Series{}, welch.Series{}); got != 0 {
		t.Errorf("nothing: %v", got)
	}
}

// Large values with small differences are where a naive sum of squares loses all digits.
func TestPrecisionSurvivesLargeValues(t *testing.T) {
	t.Parallel()
	s := welch.Of(1e9+4, 1e9+7, 1e9+13, 1e9+16)
	if !near(s.Mean(), 1e9+10) || !near(s.Variance(), 30) || s.Count() != 4 {
		t.Errorf("mean %v, variance %v, count %d", s.Mean(), s.Variance(), s.Count())
	}
}

func TestTheTopIsCut(t *testing.T) {
	t.Parallel()
	var quiet, noisy []float64
	for i := range 99 {
		quiet, noisy = append(quiet, float64(i)), append(noisy, float64(i))
	}
	quiet, noisy = append(quiet, 50), append(noisy, 1e9)
	cut := welch.Cut(0.99, quiet, noisy)
	if cut != 98 {
		t.Errorf("the cut is %v, want 98", cut)
	}
	if got := welch.Below(cut, noisy); got.Count() != 99 || got.Mean() != 49 {
		t.Errorf("%d values below the cut, mean %v", got.Count(), got.Mean())
	}
	if got := welch.Cut(1, quiet, noisy); got != 1e9 {
		t.Errorf("nothing is cut, but the cut is %v", got)
	}
}
