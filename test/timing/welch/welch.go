// Package welch tells whether two series of measurements differ, by Welch's t-test, the way dudect looks for timing leaks.
package welch

import (
	"encoding/json"
	"math"
	"slices"
)

// Series is measurements of one kind, of which only what the test needs is kept.
type Series struct {
	count    int
	mean     float64
	distance float64 // the sum of the squared distances from the mean
}

// Of is the series of some values.
func Of(values ...float64) Series {
	var s Series
	for _, v := range values {
		s.Add(v)
	}
	return s
}

// Add takes one more measurement, without loss of precision however many there are.
func (s *Series) Add(v float64) {
	s.count++
	before := v - s.mean
	s.mean += before / float64(s.count)
	s.distance += before * (v - s.mean)
}

// Count is how many measurements there are.
func (s Series) Count() int { return s.count }

// Mean is their average.
func (s Series) Mean() float64 { return s.mean }

// Variance is that of a sample; 0 when there are too few.
func (s Series) Variance() float64 {
	if s.count < 2 { //nolint:mnd // of one value nothing is known
		return 0
	}
	return s.distance / float64(s.count-1)
}

// MarshalJSON shows what people compare.
func (s Series) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"count": s.count, "mean": s.mean, "deviation": math.Sqrt(s.Variance())})
}

// Error is the standard error of the difference of two means.
func Error(a, b Series) float64 {
	return math.Sqrt(a.Variance()/float64(max(a.count, 1)) + b.Variance()/float64(max(b.count, 1)))
}

// T is Welch's t of two series: how many standard errors their means are apart. It is 0 when both are the same value
// throughout, and infinite when they are two different ones.
func T(a, b Series) float64 {
	if a.mean == b.mean {
		return 0
	}
	return (a.mean - b.mean) / Error(a, b)
}

// Cut is the value below which a share of all values lies. Measurements above it tell of the machine, which was
// interrupted, and not of what is measured.
func Cut(share float64, all ...[]float64) float64 {
	pooled := slices.Concat(all...)
	if len(pooled) == 0 {
		return math.Inf(1)
	}
	slices.Sort(pooled)
	at := int(math.Ceil(share*float64(len(pooled)))) - 1
	return pooled[min(max(at, 0), len(pooled)-1)]
}

// Below is the series of the values that do not exceed the cut.
func Below(cut float64, values []float64) Series {
	var s Series
	for _, v := range values {
		if v <= cut {
			s.Add(v)
		}
	}
	return s
}
