package splice

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// lender has parts of documents. Those that are wanted are written as they stand there.
type lender struct {
	parts map[*value.Value]loan
	base  string // what the documents come from: comments that it has too are nobody's own
	whole bool   // collections are taken as a whole when they bring comments
}

// loan is where a part stands in a block collection.
type loan struct {
	in   *document
	node *node // the collection around it
	slot int
}

func newLender(base string, documents ...*document) *lender {
	l := &lender{parts: map[*value.Value]loan{}, base: base}
	for _, d := range documents {
		if d.root != nil {
			l.add(d, d.root, d.value)
		}
	}
	return l
}

func (l *lender) add(d *document, n *node, v *value.Value) {
	if !n.block() {
		return
	}
	at := 0
	for i, s := range n.slots {
		var part *value.Value
		switch {
		case n.yaml.Kind == yaml.SequenceNode:
			part = v.Items[i]
		case value.IsMerge(s.key.yaml):
			continue
		default:
			for v.Entries[at].Merged {
				at++
			}
			part = v.Entries[at].Value
			at++
		}
		if s.node.yaml.Kind != yaml.AliasNode {
			l.parts[part] = loan{d, n, i}
			l.add(d, s.node, part)
		}
	}
}

// find gives the loan of a part that has a key in a mapping, and none in a list.
func (l *lender) find(in yaml.Kind, part value.Entry) (one loan, ok bool) {
	if l == nil {
		return loan{}, false
	}
	one, ok = l.parts[part.Value]
	if !ok || one.node.yaml.Kind != in {
		return loan{}, false
	}
	s := one.node.slots[one.slot]
	return one, !s.linked() && (s.key == nil || s.key.yaml.Value == part.Name)
}

// lines gives the lines of a part, with its key and its comments, for a collection at a column.
func (l *lender) lines(in yaml.Kind, part value.Entry, column int) (lines []string, ok bool) {
	one, ok := l.find(in, part)
	if !ok {
		return nil, false
	}
	return one.lines(column), true
}

// linked tells whether there are anchors or aliases in a slot.
func (s slot) linked() bool {
	return s.node.anchors || s.node.aliases || s.key != nil && (s.key.anchors || s.key.aliases)
}

// lines are the lines of a part, moved to a column.
func (l loan) lines(column int) []string {
	c := l.in.chunk(l.node, l.slot)
	text := string(l.in.raw[c.from:beforeBreak(l.in.raw, c.to)])
	if l.in.shares(l.node.slots[l.slot]) {
		text = pad(l.node.column) + text
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = shifted(line, column-l.node.column)
	}
	return lines
}

// shifted indents a line by some more columns, or by some less as far as it can: lines inside quotes may be indented less
// than what is around them. Empty lines stay empty.
func shifted(line string, by int) string {
	if by >= 0 && line != "" {
		return pad(by) + line
	}
	for ; by < 0 && strings.HasPrefix(line, " "); by++ {
		line = line[1:]
	}
	return line
}

// comments are those of a part.
func (l loan) comments() []string {
	c := l.in.chunk(l.node, l.slot)
	return l.in.comments(c.from, c.to)
}

// lost counts the comments that are neither in the base nor among others.
func (l *lender) lost(comments []string, has func(string) bool) int {
	count := 0
	for _, comment := range comments {
		if !has(comment) && !strings.Contains(l.base, comment) {
			count++
		}
	}
	return count
}

func among(comments []string) func(string) bool {
	return func(comment string) bool { return slices.Contains(comments, comment) }
}

// borrowed is what can be taken for a node in a block collection of this text.
type borrowed struct {
	slot
	loan loan
	mine chunk // the lines it has now
	at   int   // the column where it goes
}

func (e *editor) borrow(n *node, c change) (found borrowed, ok bool) {
	if e.style.lender == nil || n.parent == nil || !n.parent.block() {
		return found, false
	}
	at := slices.IndexFunc(n.parent.slots, func(s slot) bool { return s.node == n })
	if at < 0 || n.parent.slots[at].linked() {
		return found, false // it is a key, or there are anchors and aliases in it
	}
	found = borrowed{slot: n.parent.slots[at], mine: e.chunk(n.parent, at), at: n.parent.column}
	found.loan, ok = e.style.lender.find(n.parent.yaml.Kind, value.Entry{Name: c.key, Value: c.want})
	return found, ok
}

// remarked tells whether a collection can be taken with comments that this text does not have there.
func (e *editor) remarked(n *node, c change) bool {
	if e.style.lender == nil || !e.style.lender.whole {
		return false
	}
	found, ok := e.borrow(n, c)
	return ok && e.style.lender.lost(found.loan.comments(), among(e.comments(found.mine.from, found.mine.to))) > 0
}

// take writes a node anew as it stands elsewhere, with its key and comments. It does nothing, and says so, when that would
// lose a comment of this text.
func (e *editor) take(n *node, c change) bool {
	found, ok := e.borrow(n, c)
	if !ok || e.style.lender.lost(e.comments(found.mine.from, found.mine.to), among(found.loan.comments())) > 0 {
		return false
	}
	lines := found.loan.lines(found.at)
	if !e.shares(found.slot) {
		e.put(edit{from: found.mine.from, to: found.mine.to, with: e.join(lines), lines: true, open: true, owner: n})
		return true
	}
	if strings.HasPrefix(strings.TrimLeft(lines[0], " "), "#") {
		return false
	}
	with := strings.TrimLeft(e.join(lines), " ")
	e.put(edit{from: found.start, to: e.beforeBreak(found.mine.to), with: with, open: true, owner: n})
	return true
}
