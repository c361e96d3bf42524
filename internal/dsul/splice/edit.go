package splice

import (
	"bytes"
	"slices"
	"strings"
)

// edit replaces a stretch of the text.
type edit struct {
	from, to int
	with     string
	lines    bool  // with stands on lines of its own
	open     bool  // what is written must be followed by a line break
	owner    *node // whose value is changed
}

// apply makes edits in the stretch of a text from one place to another. It fails when edits overlap.
func (t *text) apply(edits []edit, from, to int, nl string) ([]byte, bool) {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return min(a.to-a.from, 1) - min(b.to-b.from, 1) // insertions first
	})
	out := make([]byte, 0, to-from+len(nl))
	at := from
	for _, e := range edits {
		if e.from < at || e.to > to {
			return nil, false
		}
		out = append(out, t.raw[at:e.from]...)
		at = e.to
		if !e.lines {
			out = append(out, e.with...)
			continue
		}
		if len(out) > 0 && !endsLine(out) && string(out) != bom {
			out = append(out, nl...)
		}
		out = append(out, e.with...)
		if e.to < len(t.raw) || e.open || endsLine(t.raw) {
			out = append(out, nl...)
		}
	}
	out = append(out, t.raw[at:to]...)
	if n := len(edits); n > 0 && edits[n-1].open && at == len(t.raw) && !endsLine(out) {
		out = append(out, nl...)
	}
	return out, true
}

func endsLine(raw []byte) bool {
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasSuffix(raw, []byte(end)) {
			return true
		}
	}
	return false
}

// editor collects the edits that make a document mean something else.
type editor struct {
	*document
	edits   []edit
	changed anchors
	paired  map[pairing]*node
}

// put notes an edit, unless it does nothing.
func (e *editor) put(one edit) {
	if one.from < one.to || one.with != "" {
		e.edits = append(e.edits, one)
	}
}

// aside collects the edits that a function makes instead of making them.
func (e *editor) aside(f func()) []edit {
	before := e.edits
	e.edits = nil
	f()
	made := e.edits
	e.edits = before
	return made
}

// join puts lines together, with the line breaks of the text.
func (d *document) join(lines []string) string { return strings.Join(lines, d.style.nl) }
