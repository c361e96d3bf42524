package compare

import "atelier/internal/dsul/internal/lcs"

// Stretch says that the lines From up to FromEnd of one text have become the lines To up to ToEnd of another.
type Stretch struct{ From, FromEnd, To, ToEnd int }

// Lines tells which stretches of lines differ, in order. Two stretches never touch.
func Lines(a, b []string) []Stretch {
	var found []Stretch
	at := Stretch{}
	for _, run := range append(lcs.Common(number(a, b)), lcs.Run{A: len(a), B: len(b)}) {
		at.FromEnd, at.ToEnd = run.A, run.B
		if at.FromEnd > at.From || at.ToEnd > at.To {
			found = append(found, at)
		}
		at = Stretch{From: run.A + run.Len, To: run.B + run.Len}
	}
	return found
}

// number gives equal lines equal numbers. Lines that both texts have at their ends are left to the comparison of numbers:
// they are the most, and need no table.
func number(a, b []string) (x, y []int) {
	x, y = make([]int, len(a)), make([]int, len(b))
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	numbers := make(map[string]int, len(a)+len(b)-2*head-2*tail)
	for _, side := range []struct {
		lines []string
		into  []int
	}{{a[head : len(a)-tail], x[head:]}, {b[head : len(b)-tail], y[head:]}} {
		for i, line := range side.lines {
			n, known := numbers[line]
			if !known {
				n = len(numbers) + 1
				numbers[line] = n
			}
			side.into[i] = n
		}
	}
	return x, y
}
