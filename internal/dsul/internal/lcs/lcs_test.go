package lcs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/dsul/internal/lcs"
)

// length is the textbook answer: the length of a longest common subsequence, in quadratic time.
func length(a, b []int) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], above)
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// check fails unless the runs are common and in order, and counts their elements.
func check(t rapid.TB, a, b []int) int {
	t.Helper()
	total, x, y := 0, 0, 0
	for _, run := range lcs.Common(a, b) {
		if run.A < x || run.B < y || run.Len <= 0 || !slices.Equal(a[run.A:run.A+run.Len], b[run.B:run.B+run.Len]) {
			t.Fatalf("run %v is out of order or not common", run)
		}
		x, y = run.A+run.Len, run.B+run.Len
		total += run.Len
	}
	return total
}

func TestLongestOfShortSequences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.IntRange(1, 12).Draw(t, "alphabet")
		some := rapid.SliceOfN(rapid.IntRange(0, alphabet), 0, 80)
		a, b := some.Draw(t, "a"), some.Draw(t, "b")
		if got, want := check(t, a, b), length(a, b); got != want {
			t.Fatalf("found %d of %d common elements", got, want)
		}
	})
}

func random(size, alphabet int) (a, b []int) {
	source := rand.New(rand.NewPCG(1, 2))
	for range size {
		a, b = append(a, source.IntN(alphabet)), append(b, source.IntN(alphabet))
	}
	return a, b
}

// Two unlike sequences from a small alphabet are the worst there is: everything occurs on both sides, nothing is in order.
// Without a bound this test would take hours.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	for _, alphabet := range []int{2, 30, 5000, 300_000} {
		a, b := random(300_000, alphabet)
		if check(t, a, b) == 0 {
			t.Errorf("nothing in common with an alphabet of %d", alphabet)
		}
	}
}

func BenchmarkRandom(b *testing.B) {
	x, y := random(300_000, 1000)
	for b.Loop() {
		lcs.Common(x, y)
	}
}
