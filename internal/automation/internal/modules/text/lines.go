package text

import "strings"

// numbered are texts cut into lines, each line named by a number: equal lines of all of them have the same.
type numbered struct {
	numbers map[string]int
	lines   []string
}

// cut gives the numbers of the lines of a text, with what ends them.
func (n *numbered) cut(text string) []int {
	out := make([]int, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		out = append(out, n.number(line))
	}
	return out
}

func (n *numbered) number(line string) int {
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	number, known := n.numbers[line]
	if !known {
		number = len(n.lines)
		n.numbers[line] = number
		n.lines = append(n.lines, line)
	}
	return number
}

// match is a run of lines that two texts have in common: where it begins in each, and how long it is.
type match struct{ a, b, length int }

// matcher finds what two texts have in common, in order. It takes the lines that are unique in both as anchors, and compares every
// line with every other only in gaps that are small: the time grows little faster than the texts.
type matcher struct {
	a, b    []int
	matches []match
	// budget is how many pairs of lines may still be compared.
	budget int
}

const (
	// maxPairs is how many pairs of lines one gap may have to be compared in full, and allPairs all gaps together.
	maxPairs = 1 << 20
	allPairs = 1 << 24
)

// common gives what two texts have in common, with an empty match at their ends.
func common(a, b []int) []match {
	m := &matcher{a: a, b: b, budget: allPairs}
	start, endA, endB := 0, len(a), len(b)
	for start < endA && start < endB && a[start] == b[start] {
		start++
	}
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	m.note(0, 0, start)
	m.between(start, endA, start, endB)
	m.note(endA, endB, len(a)-endA)
	m.matches = append(m.matches, match{len(a), len(b), 0})
	return m.matches
}

// note adds a match, to the one before it when there is nothing between them.
func (m *matcher) note(a, b, length int) {
	if length == 0 {
		return
	}
	if n := len(m.matches); n > 0 {
		last := &m.matches[n-1]
		if last.a+last.length == a && last.b+last.length == b {
			last.length += length
			return
		}
	}
	m.matches = append(m.matches, match{a, b, length})
}

// between finds what is in common between two places of each text.
func (m *matcher) between(a, endA, b, endB int) {
	for _, at := range append(m.anchors(a, endA, b, endB), anchor{endA, endB}) {
		if at.a < a || at.b < b { // it is part of what was found already
			continue
		}
		stopA, stopB := at.a, at.b // what comes before the anchor and is the same belongs to it
		for stopA > a && stopB > b && m.a[stopA-1] == m.b[stopB-1] {
			stopA--
			stopB--
		}
		m.gap(a, stopA, b, stopB)
		a, b = at.a, at.b
		for a < endA && b < endB && m.a[a] == m.b[b] {
			a++
			b++
		}
		m.note(stopA, stopB, a-stopA)
	}
}

// gap finds the longest sequence in common where no line is unique, when there are few enough.
func (m *matcher) gap(a, endA, b, endB int) {
	rows, columns := endA-a, endB-b
	pairs := rows * columns
	if pairs == 0 || pairs > maxPairs || pairs > m.budget {
		return
	}
	m.budget -= pairs
	width := columns + 1
	longest := make([]int32, (rows+1)*width) // from a pair of places to the ends
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if m.a[a+i] == m.b[b+j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case m.a[a+i] == m.b[b+j]:
			m.note(a+i, b+j, 1)
			i++
			j++
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}
