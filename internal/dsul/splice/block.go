package splice

import (
	"slices"
	"strings"
)

// beforeBreak is the place before the line break that ends at a place, the place itself when none does.
func beforeBreak(raw []byte, at int) int {
	for _, end := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if strings.HasSuffix(string(raw[max(0, at-3):at]), end) {
			return at - len(end)
		}
	}
	return at
}

func (t *text) beforeBreak(at int) int { return beforeBreak(t.raw, at) }

// reshapeBlock takes out and adds the lines of entries in a block collection.
func (e *editor) reshapeBlock(n *node, r *reshape) {
	chunks := e.chunks(n)
	mark := len(e.edits)
	for i := range n.slots {
		if len(r.add[i]) > 0 {
			lines, open := e.additions(n, r.add[i])
			e.put(edit{from: chunks[i].to, to: chunks[i].to, with: lines, lines: true, open: open, owner: n})
		}
		if r.drop[i] && !e.shares(n.slots[i]) {
			e.put(edit{from: chunks[i].from, to: chunks[i].to, owner: n})
		}
	}
	shared := e.shares(n.slots[0])
	switch {
	case len(r.add[-1]) > 0 && shared:
		e.insertShared(n, r, chunks)
	case len(r.add[-1]) > 0:
		lines, open := e.additions(n, r.add[-1])
		e.put(edit{from: chunks[0].from, to: chunks[0].from, with: lines, lines: true, open: open, owner: n})
	case r.drop[0] && shared:
		e.edits = append(e.edits[:mark], e.dropShared(n, r, chunks, e.edits[mark:])...)
	}
}

// additions writes new entries as lines at the column of their collection.
func (e *editor) additions(n *node, adds []addition) (lines string, open bool) {
	var all []string
	for _, one := range adds {
		var more []string
		switch {
		case one.lines != "":
			more, open = []string{one.lines}, false
		case one.entry.Key == nil:
			more, open = e.style.item(one.entry.Value, n.column)
		default:
			more, open = e.style.entry(one.entry, n.column)
		}
		all = append(all, more...)
	}
	return e.join(all), open
}

// insertShared puts new entries before the first one, on the line that it shares with what introduces the collection, and
// takes the first one out when it goes.
func (e *editor) insertShared(n *node, r *reshape, chunks []chunk) {
	lines, open := e.additions(n, r.add[-1])
	start := n.slots[0].start
	one := edit{from: start, to: start, with: strings.TrimLeft(lines, " ") + e.style.nl + pad(n.column), open: open, owner: n}
	if r.drop[0] {
		one.to = e.beforeBreak(chunks[0].to)
		one.with = strings.TrimLeft(lines, " ")
	}
	e.put(one)
}

// dropShared takes out the first entry of a collection that begins on the line of what introduces it. The next entry moves
// up to its place, unless there are comments between them. edits are those of the other entries, of which those before the
// next entry are not needed any more.
func (e *editor) dropShared(n *node, r *reshape, chunks []chunk, edits []edit) []edit {
	next := r.first(0)
	bare := chunks[next].from == e.lineStart(n.slots[next].start)
	for i := range next {
		bare = bare && !e.commented(chunks[i].to, chunks[i+1].from)
	}
	start := n.slots[0].start
	if !bare {
		from := start
		for from > n.intro && (e.at(from-1) == ' ' || e.at(from-1) == '\t') {
			from--
		}
		return append(edits, edit{from: from, to: e.beforeBreak(chunks[0].to), owner: n})
	}
	end := n.slots[next].start
	edits = slices.DeleteFunc(edits, func(one edit) bool { return one.to <= end })
	return append(edits, edit{from: start, to: end, owner: n})
}
