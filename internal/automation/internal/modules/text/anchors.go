package text

import "sort"

// anchor is a line that is unique in two texts, and where it stands in each.
type anchor struct{ a, b int }

// anchors gives the longest sequence of lines that are unique in both texts and stand in the same order.
func (m *matcher) anchors(a, endA, b, endB int) []anchor {
	type place struct{ countA, countB, b int }
	places := make(map[int]place, endA-a)
	for _, line := range m.a[a:endA] {
		p := places[line]
		p.countA++
		places[line] = p
	}
	for i, line := range m.b[b:endB] {
		if p, known := places[line]; known {
			p.countB++
			p.b = b + i
			places[line] = p
		}
	}
	var unique []anchor
	for i, line := range m.a[a:endA] {
		if p := places[line]; p.countA == 1 && p.countB == 1 {
			unique = append(unique, anchor{a + i, p.b})
		}
	}
	return increasing(unique)
}

// increasing gives the longest part of a list, which is in the order of a, that is in the order of b too.
func increasing(list []anchor) []anchor {
	var ends []int // of the sequences of each length, the one that ends first: its last item
	before := make([]int, len(list))
	for i, item := range list {
		at := sort.Search(len(ends), func(k int) bool { return list[ends[k]].b >= item.b })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	out := make([]anchor, len(ends))
	for k, i := len(ends)-1, ends[len(ends)-1]; k >= 0; k, i = k-1, before[i] {
		out[k] = list[i]
	}
	return out
}
