package splice

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// style is how a text is written, as far as new parts of it follow.
type style struct {
	nl     string
	step   int     // how far a mapping is indented below its key
	dash   int     // how far a list is indented below its key
	single bool    // strings that need quotes get single ones
	json   bool    // the text is JSON and stays so
	tight  bool    // JSON without spaces
	spread bool    // JSON with one entry a line
	unit   string  // how far JSON is indented
	lender *lender // another document, nil without one
}

func plainStyle() style { return style{nl: "\n", step: 2, dash: 2} }

// census counts how the nodes of a text are written.
type census struct {
	steps, dashes map[int]int
	single        int // more single quotes than double ones
	seen          int
}

// maxCensus bounds how many nodes are looked at: the first thousands tell the habit.
const maxCensus = 5000

func (d *document) findStyle() style {
	s := plainStyle()
	if len(d.lines) > 1 {
		switch nl := d.raw[d.lineEnd(0):d.lines[1]]; string(nl) {
		case "\r\n", "\r":
			s.nl = string(nl)
		}
	}
	if d.root == nil {
		return s
	}
	if d.root.flow() && isJSON(d.raw) {
		s.json = true
		s.spread = len(d.root.slots) == 0 || breakWithin(d.raw[d.root.body:d.root.end])
		s.tight = !s.spread && bytes.Contains(d.raw, []byte(`":`)) && !bytes.Contains(d.raw, []byte(`": `))
		s.unit = d.jsonUnit()
		return s
	}
	c := census{steps: map[int]int{}, dashes: map[int]int{}}
	c.count(d.root)
	s.step, s.dash, s.single = most(c.steps, s.step), most(c.dashes, s.dash), c.single > 0
	return s
}

func breakWithin(raw []byte) bool { return bytes.ContainsAny(raw, "\r\n") }

// jsonUnit is how far the first entry of a JSON text is indented, beyond the text itself.
func (d *document) jsonUnit() string {
	if len(d.root.slots) > 0 && d.own(d.root.slots[0].start) {
		first := d.root.slots[0].start
		return strings.TrimPrefix(string(d.raw[d.lineStart(first):first]), string(d.raw[d.lineStart(d.root.start):d.root.start]))
	}
	return pad(plainStyle().step)
}

func (c *census) count(n *node) {
	if c.seen++; c.seen > maxCensus {
		return
	}
	switch {
	case n.yaml.Style&yaml.SingleQuotedStyle != 0:
		c.single++
	case n.yaml.Style&yaml.DoubleQuotedStyle != 0:
		c.single--
	}
	if n.block() && n.parent != nil && n.parent.block() && n.parent.yaml.Kind == yaml.MappingNode {
		below := n.column - n.parent.column
		if n.yaml.Kind == yaml.SequenceNode {
			c.dashes[below]++
		} else {
			c.steps[below]++
		}
	}
	for _, s := range n.slots {
		c.count(s.node)
	}
}

// most is the number counted most often, the smallest of them.
func most(counts map[int]int, otherwise int) int {
	found, often := otherwise, 0
	for number, times := range counts {
		if number >= 0 && (times > often || times == often && number < found) {
			found, often = number, times
		}
	}
	return found
}
