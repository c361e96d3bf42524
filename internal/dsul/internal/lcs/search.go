package lcs

import "math"

// search is one comparison. Diagonal d of the edit graph holds the points with x-y = d; forward and backward keep the
// furthest x reached on each diagonal from either corner.
type search struct {
	a, b              []int
	lostA, lostB      []bool // what has no partner
	forward, backward []int
	origin            int // index of diagonal 0
	left              int // steps left
}

// box is a stretch of both sequences: a[left:right] against b[top:bottom].
type box struct{ left, right, top, bottom int }

// front is the range of diagonals that one direction has reached.
type front struct{ low, high int }

func newSearch(a, b []int) *search {
	size := len(a) + len(b) + 3
	return &search{
		a: a, b: b,
		lostA: make([]bool, len(a)), lostB: make([]bool, len(b)),
		forward: make([]int, size), backward: make([]int, size),
		origin: len(b) + 1, left: budget,
	}
}

// compare marks what a box does not have in common: it cuts the box at a point that a shortest edit passes, and goes on
// with both halves.
func (s *search) compare(in box) {
	for {
		for in.left < in.right && in.top < in.bottom && s.a[in.left] == s.b[in.top] {
			in.left++
			in.top++
		}
		for in.left < in.right && in.top < in.bottom && s.a[in.right-1] == s.b[in.bottom-1] {
			in.right--
			in.bottom--
		}
		if in.left == in.right || in.top == in.bottom || s.left <= 0 {
			s.lose(in)
			return
		}
		x, y := s.cut(in)
		s.compare(box{left: in.left, right: x, top: in.top, bottom: y})
		in.left, in.top = x, y
	}
}

func (s *search) lose(in box) {
	for x := in.left; x < in.right; x++ {
		s.lostA[x] = true
	}
	for y := in.top; y < in.bottom; y++ {
		s.lostB[y] = true
	}
}

// cut finds a point in the middle of a shortest edit by searching from both corners until the searches meet, or the best
// point so far when that takes too long.
func (s *search) cut(in box) (x, y int) {
	start, end := in.left-in.top, in.right-in.bottom
	s.forward[s.origin+start], s.backward[s.origin+end] = in.left, in.right
	ahead, behind := front{start, start}, front{end, end}
	odd := (start-end)&1 != 0
	for cost := 1; ; cost++ {
		ahead = s.widen(in, ahead, s.forward, -1)
		if x, y, met := s.advance(in, ahead, behind, odd); met {
			return x, y
		}
		behind = s.widen(in, behind, s.backward, math.MaxInt)
		if x, y, met := s.retreat(in, ahead, behind, !odd); met {
			return x, y
		}
		s.left -= ahead.high - ahead.low + behind.high - behind.low + 2
		if cost >= patience || s.left <= 0 {
			return s.best(in, ahead, behind)
		}
	}
}

// widen lets a front grow by one diagonal on each side, or shrink where it left the box.
func (s *search) widen(in box, f front, reached []int, beyond int) front {
	if f.low > in.left-in.bottom {
		f.low--
		reached[s.origin+f.low-1] = beyond
	} else {
		f.low++
	}
	if f.high < in.right-in.top {
		f.high++
		reached[s.origin+f.high+1] = beyond
	} else {
		f.high--
	}
	return f
}

// advance takes the forward search one edit further, and tells where it met the backward one.
func (s *search) advance(in box, ahead, behind front, check bool) (x, y int, met bool) {
	for d := ahead.high; d >= ahead.low; d -= 2 {
		at := s.origin + d
		x = max(s.forward[at-1]+1, s.forward[at+1])
		y = x - d
		for x < in.right && y < in.bottom && s.a[x] == s.b[y] {
			x++
			y++
			s.left--
		}
		s.forward[at] = x
		if check && behind.low <= d && d <= behind.high && s.backward[at] <= x {
			return x, y, true
		}
	}
	return 0, 0, false
}

// retreat is advance for the search that starts at the end.
func (s *search) retreat(in box, ahead, behind front, check bool) (x, y int, met bool) {
	for d := behind.high; d >= behind.low; d -= 2 {
		at := s.origin + d
		x = min(s.backward[at-1], s.backward[at+1]-1)
		y = x - d
		for x > in.left && y > in.top && s.a[x-1] == s.b[y-1] {
			x--
			y--
			s.left--
		}
		s.backward[at] = x
		if check && ahead.low <= d && d <= ahead.high && x <= s.forward[at] {
			return x, y, true
		}
	}
	return 0, 0, false
}

// best is the point, of all that either search has reached, which is furthest from its corner.
func (s *search) best(in box, ahead, behind front) (x, y int) {
	gained := -1
	for d := ahead.high; d >= ahead.low; d -= 2 {
		px := min(s.forward[s.origin+d], in.right, in.bottom+d)
		if sum := px - in.left + px - d - in.top; px-d >= in.top && sum > gained {
			gained, x, y = sum, px, px-d
		}
	}
	for d := behind.high; d >= behind.low; d -= 2 {
		px := max(s.backward[s.origin+d], in.left, in.top+d)
		if sum := in.right - px + in.bottom - (px - d); px-d <= in.bottom && sum > gained {
			gained, x, y = sum, px, px-d
		}
	}
	return x, y
}
