package splice

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// text is a YAML text with the places where its lines begin. What ends a line is what the parser takes for a line break.
type text struct {
	raw   []byte
	lines []int
}

func newText(raw []byte) *text {
	t := &text{raw: raw, lines: []int{0}}
	if bytes.HasPrefix(raw, []byte(bom)) {
		t.lines[0] = len(bom)
	}
	for i := 0; i < len(raw); {
		if width := breakAt(raw, i); width > 0 {
			i += width
			t.lines = append(t.lines, i)
		} else {
			i++
		}
	}
	return t
}

// breakAt is the width of the line break at a place, zero when there is none.
func breakAt(raw []byte, at int) int {
	if at >= len(raw) {
		return 0
	}
	switch raw[at] {
	case '\n':
		return 1
	case '\r':
		if at+1 < len(raw) && raw[at+1] == '\n' {
			return 2
		}
		return 1
	case 0xC2:
		if bytes.HasPrefix(raw[at:], []byte("\u0085")) {
			return 2
		}
	case 0xE2:
		if bytes.HasPrefix(raw[at:], []byte("\u2028")) || bytes.HasPrefix(raw[at:], []byte("\u2029")) {
			return 3
		}
	}
	return 0
}

// at is the byte at a place, zero at the end.
func (t *text) at(place int) byte {
	if place < len(t.raw) {
		return t.raw[place]
	}
	return 0
}

// blankAt tells whether a place holds a space, a tab, a line break or the end.
func (t *text) blankAt(place int) bool {
	return place >= len(t.raw) || t.raw[place] == ' ' || t.raw[place] == '\t' || breakAt(t.raw, place) > 0
}

func (t *text) line(place int) int {
	found, exact := slices.BinarySearch(t.lines, place)
	if exact {
		return found
	}
	return max(found-1, 0)
}

// lineStart is where the line of a place begins.
func (t *text) lineStart(place int) int { return t.lines[t.line(place)] }

// lineEnd is where the line of a place ends, before its line break.
func (t *text) lineEnd(place int) int {
	for place < len(t.raw) && breakAt(t.raw, place) == 0 {
		place++
	}
	return place
}

// nextLine is where the line after that of a place begins, the end of the text when there is none.
func (t *text) nextLine(place int) int {
	end := t.lineEnd(place)
	return end + breakAt(t.raw, end)
}

// column counts the characters before a place in its line.
func (t *text) column(place int) int {
	return utf8.RuneCount(t.raw[min(t.lineStart(place), place):place])
}

// blanks is where the spaces and tabs from a place end.
func (t *text) blanks(place int) int {
	for t.at(place) == ' ' || t.at(place) == '\t' {
		place++
	}
	return place
}

// trivia is where the spaces, line breaks and comments from a place end.
func (t *text) trivia(place int) int {
	for {
		place = t.blanks(place)
		if t.at(place) == '#' {
			place = t.lineEnd(place)
		}
		width := breakAt(t.raw, place)
		if width == 0 {
			return place
		}
		place += width
	}
}

// own tells whether nothing but spaces stands before a place in its line.
func (t *text) own(place int) bool { return t.blanks(t.lineStart(place)) >= place }

// rest tells whether nothing but spaces stands from a place to the end of its line.
func (t *text) rest(place int) bool { return t.blanks(place) >= t.lineEnd(place) }

// commented tells whether a stretch between two nodes holds a comment.
func (t *text) commented(from, to int) bool { return bytes.IndexByte(t.raw[from:to], '#') >= 0 }

// comment tells whether a line is a comment and nothing else, and at which column it begins.
func (t *text) comment(line int) (column int, ok bool) {
	begin := t.blanks(line)
	return begin - line, t.at(begin) == '#'
}
