package splice

import (
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalar finds the end of a scalar. indent is the column of the block collection around it, -1 at the root.
func (l *layout) scalar(n *node, indent int) {
	switch {
	case n.yaml.Style&yaml.DoubleQuotedStyle != 0:
		l.expect(n.body, '"')
		n.end = l.doubleQuoted(n.body + 1)
	case n.yaml.Style&yaml.SingleQuotedStyle != 0:
		l.expect(n.body, '\'')
		n.end = l.singleQuoted(n.body + 1)
	case n.blockScalar():
		l.blockScalar(n, indent)
	default:
		n.end = l.plain(n.body, n.yaml.Value)
	}
}

func (l *layout) doubleQuoted(at int) int {
	for ; at < len(l.raw); at++ {
		switch l.raw[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	l.lost = true
	return len(l.raw)
}

func (l *layout) singleQuoted(at int) int {
	for ; at < len(l.raw); at++ {
		if l.raw[at] == '\'' {
			if l.at(at+1) != '\'' {
				return at + 1
			}
			at++
		}
	}
	l.lost = true
	return len(l.raw)
}

// plain finds the end of a scalar without quotes: its characters stand in the text as they are, only the space between
// them may differ.
func (l *layout) plain(at int, value string) int {
	end := at
	for _, r := range value {
		if isSpace(r) {
			continue
		}
		for {
			found, width := utf8.DecodeRune(l.raw[at:])
			if width == 0 {
				l.lost = true
				return end
			}
			at += width
			if isSpace(found) {
				continue
			}
			if found != r {
				l.lost = true
				return end
			}
			break
		}
		end = at
	}
	return end
}

func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\r', '\n', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// blockScalar finds the end of a scalar that begins with | or >: the end of its last line, before the line break. Empty
// lines at its end belong to it only where they are kept.
func (l *layout) blockScalar(n *node, indent int) {
	at, width, keep := n.body+1, 0, false
	for ; ; at++ {
		if c := l.at(at); c == '+' || c == '-' {
			keep = c == '+'
		} else if c >= '1' && c <= '9' {
			width = max(indent, 0) + int(c-'0')
		} else {
			break
		}
	}
	n.head, n.end = at, at
	line := l.nextLine(at)
	if line == l.lineEnd(at) {
		return // the text ends here
	}
	if width == 0 {
		width = max(l.indentation(line), indent+1, 1)
	}
	for line < len(l.raw) {
		column, blank := l.contentLine(line, width)
		if !blank && column < width {
			return
		}
		if end := l.lineEnd(line); !blank || keep && end < len(l.raw) {
			n.end = end
		}
		next := l.nextLine(line)
		if next == l.lineEnd(line) {
			return
		}
		line = next
	}
}

// indentation is how far the first line of a block scalar is indented that is not empty; emptier lines before may be
// indented further.
func (l *layout) indentation(line int) int {
	widest := 0
	for {
		column, blank := l.contentLine(line, len(l.raw))
		widest = max(widest, column)
		next := l.nextLine(line)
		if !blank || next >= len(l.raw) {
			return widest
		}
		line = next
	}
}

// contentLine tells how many spaces begin a line, no more than are asked for, and whether nothing follows them.
func (l *layout) contentLine(line, most int) (column int, blank bool) {
	for l.at(line+column) == ' ' && column < most {
		column++
	}
	return column, line+column >= len(l.raw) || breakAt(l.raw, line+column) > 0
}
