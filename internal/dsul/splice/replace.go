package splice

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// maxFlow is how long a flow collection may be that replaces another one.
const maxFlow = 80

// replace writes a node anew. Its anchor stays.
func (e *editor) replace(n *node, c change) {
	e.changed.replaced(n, c.want)
	switch {
	case e.take(n, c):
	case n.inFlow || e.style.json:
		e.replaceInFlow(n, c)
	case n.parent == nil && n.empty() && n.start == n.end:
		e.fill(n.intro, c.want)
	case n.parent == nil && n.block():
		e.replaceRoot(n, c)
	default:
		e.replaceInBlock(n, c)
	}
}

// fill writes the root of a text that has none yet, behind its comments.
func (e *editor) fill(from int, want *value.Value) {
	f := e.style.form(want, spot{in: yaml.DocumentNode})
	if f.head != "" {
		f.lines = append([]string{f.head}, f.lines...)
	}
	at := e.trivia(from)
	e.put(edit{from: at, to: at, with: e.join(f.lines), lines: true, open: f.open || at == from, owner: e.root})
}

// replaceRoot writes the root anew that is a block collection: its comments at the top and the bottom stay.
func (e *editor) replaceRoot(n *node, c change) {
	f := e.style.form(c.want, spot{in: yaml.DocumentNode})
	if head := e.properties(n, f); head != "" {
		f.lines = append([]string{head}, f.lines...)
	}
	chunks := e.chunks(n)
	from, to := chunks[0].from, chunks[len(chunks)-1].to
	if n.props > n.start {
		from = n.start
	}
	if e.own(from) {
		e.put(edit{from: e.lineStart(from), to: to, with: e.join(f.lines), lines: true, open: f.open, owner: n})
		return
	}
	e.put(edit{from: from, to: e.beforeBreak(to), with: e.join(f.lines), open: f.open, owner: n})
}

// properties is the head of a form with the anchor that the node has.
func (e *editor) properties(n *node, f form) string {
	if n.yaml.Anchor == "" {
		return f.head
	}
	return strings.TrimSuffix("&"+n.yaml.Anchor+" "+f.head, " ")
}

// stretch is a part of the text.
type stretch struct{ from, to int }

// replaceInBlock writes a node inside a block collection, or a root that is none, anew.
func (e *editor) replaceInBlock(n *node, c change) {
	at := spot{in: yaml.DocumentNode, hint: n.yaml.Style, old: n.yaml.Value}
	if n.parent != nil {
		at.in, at.column = n.parent.yaml.Kind, n.parent.column
	}
	head, tail, below := e.stretches(n)
	f := e.style.form(c.want, at)
	if n.start == n.end && n.lone {
		f.lines = append([]string{strings.TrimSuffix(pad(at.column)+": "+f.head, " ")}, f.lines...)
		e.put(edit{from: tail.from, to: tail.to, with: e.style.nl + e.join(f.lines), open: f.open, owner: n})
		return
	}
	switch {
	case e.staysFlow(n, c.want):
		f = form{head: e.style.flow(c.want)}
	case n.block() && len(f.lines) > 0 && c.old.Kind == c.want.Kind:
		f.lines, f.open = e.style.block(c.want, n.column)
	}
	f.head = e.properties(n, f)
	if column, ok := e.beside(n, head, f, below); ok {
		f.lines, f.open = e.style.block(c.want, column)
		written := strings.TrimLeft(e.join(f.lines), " ")
		if head.from == head.to {
			written = " " + written
		}
		e.put(edit{from: head.from, to: e.lineEnd(head.to), with: written, open: f.open, owner: n})
		e.put(edit{from: tail.from, to: tail.to, open: f.open, owner: n})
		return
	}
	e.putHead(n, head, f)
	following := ""
	if len(f.lines) > 0 {
		following = e.style.nl + e.join(f.lines)
	}
	e.put(edit{from: tail.from, to: tail.to, with: following, open: f.open, owner: n})
}

func (e *editor) putHead(n *node, head stretch, f form) {
	with := f.head
	switch {
	case head.from == head.to && with == "":
		return
	case head.from == head.to:
		with = " " + with
	case with == "" && !e.own(head.from):
		for head.from > n.intro && (e.at(head.from-1) == ' ' || e.at(head.from-1) == '\t') {
			head.from--
		}
	}
	e.put(edit{from: head.from, to: head.to, with: with, open: f.open, owner: n})
}

// stretches are the parts of a node in a block: its head beside or below what introduces it, and the lines that follow.
// below tells that the head is empty because the node begins on a line of its own.
func (e *editor) stretches(n *node) (head, tail stretch, below bool) {
	head = stretch{n.start, n.end}
	switch {
	case n.blockScalar():
		head.to = n.head
		tail.from = e.lineEnd(n.head)
		tail.to = max(tail.from, n.end)
		return head, tail, false
	case n.block():
		end := e.beforeBreak(e.trail(n.parent, slot{end: n.end}))
		if e.shares(n.slots[0]) {
			head.to = end
			return head, stretch{end, end}, false
		}
		if head.to = n.props; n.props == n.start {
			head = stretch{n.intro, n.intro}
		}
		return head, stretch{e.lineEnd(head.to), end}, true
	}
	end := e.lineEnd(head.to)
	return head, stretch{end, end}, false
}

// beside tells whether a collection can begin where the head is, without a line break before it, and at which column: in a
// list, on a line of its own, or at the root.
func (e *editor) beside(n *node, head stretch, f form, below bool) (column int, ok bool) {
	if len(f.lines) == 0 || f.head != "" || below || !e.rest(head.to) {
		return 0, false
	}
	column = e.column(head.from)
	if head.from == head.to {
		column++
	}
	switch {
	case e.own(head.from):
		return column, n.parent == nil || column > n.parent.column
	case n.parent != nil && n.parent.yaml.Kind == yaml.SequenceNode:
		return column, true
	}
	return 0, false
}

// staysFlow tells whether what replaces a flow collection is one as well: when it is short.
func (e *editor) staysFlow(n *node, want *value.Value) bool {
	if !n.flow() || len(n.slots) == 0 || !want.Collection() {
		return false
	}
	written := e.style.flow(want)
	return len(written) <= maxFlow && !strings.Contains(written, `\n`)
}
