package splice

import (
	"go.yaml.in/yaml/v3"
)

// node is a node of the text with the places it takes.
type node struct {
	yaml   *yaml.Node
	parent *node
	slots  []slot // of a mapping or a sequence

	start  int // with its properties (anchor and tag)
	props  int // the end of its properties, its start when it has none
	body   int // without its properties
	head   int // of a block scalar: the end of its indicators
	end    int
	column int  // of a block collection: where its keys or dashes stand
	inFlow bool // stands inside a flow collection
	pair   bool // is a mapping without braces in a flow sequence
	intro  int  // the end of what introduces it: a colon, a dash, a document marker
	lone   bool // is the value of a key that has not even a colon

	anchors  bool // there are anchors in it
	aliases  bool // there are aliases in it
	forced   bool // is written anew even when a part would do
	restless bool // something in it is forced
}

// slot is an entry of a mapping or an item of a sequence.
type slot struct {
	key   *node // of an entry
	node  *node
	start int
	end   int
	colon int // the end of the colon, -1 without one
	comma int // the place of the comma behind it in a flow collection, -1 without one
}

func (n *node) flow() bool {
	return n.yaml.Style&yaml.FlowStyle != 0 && (n.yaml.Kind == yaml.MappingNode || n.yaml.Kind == yaml.SequenceNode)
}

func (n *node) block() bool {
	return n.yaml.Style&yaml.FlowStyle == 0 && (n.yaml.Kind == yaml.MappingNode || n.yaml.Kind == yaml.SequenceNode)
}

func (n *node) blockScalar() bool {
	return n.yaml.Kind == yaml.ScalarNode && n.yaml.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// empty tells whether nothing is written: the node is there because its place is.
func (n *node) empty() bool {
	return n.yaml.Kind == yaml.ScalarNode && n.yaml.Value == "" && n.yaml.Style&^yaml.TaggedStyle == 0
}

// layout finds the places of nodes. The parser tells what there is, in order; the layout only has to find where each part
// begins and ends. Where it does not find what the parser saw, it gives up.
type layout struct {
	*text
	lost bool
}

// place is where a node is looked for.
type place struct {
	from   int // everything before is taken
	indent int // the column of the block collection around it, -1 at the root
	inFlow bool
}

func (l *layout) node(y *yaml.Node, parent *node, in place) *node {
	n := &node{yaml: y, parent: parent, inFlow: in.inFlow, intro: in.from}
	n.start, n.props, n.body, n.end = in.from, in.from, in.from, in.from
	if n.empty() && y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
		if l.at(l.blanks(in.from)) != '!' {
			return n
		}
	}
	n.start = l.trivia(in.from)
	n.props, n.body, n.end = n.start, n.start, n.start
	if parent != nil && l.isPair(y, parent, n.start) {
		n.pair = true
	} else {
		l.properties(n)
	}
	n.anchors, n.aliases = y.Anchor != "", y.Kind == yaml.AliasNode
	l.content(n, in)
	if parent != nil {
		parent.anchors, parent.aliases = parent.anchors || n.anchors, parent.aliases || n.aliases
	}
	return n
}

// isPair tells whether a mapping is a single pair without braces in a flow sequence: it begins where its key begins.
func (l *layout) isPair(y *yaml.Node, parent *node, start int) bool {
	if y.Kind != yaml.MappingNode || y.Style&yaml.FlowStyle == 0 || !parent.flow() || parent.yaml.Kind != yaml.SequenceNode ||
		len(y.Content) != 2 {
		return false
	}
	key := y.Content[0]
	return l.at(start) == '?' || key.Line > 0 && key.Line == y.Line && key.Column == y.Column
}

// properties passes the anchor and the tag of a node. What a mapping does not have itself belongs to its first key.
func (l *layout) properties(n *node) {
	at := n.start
	anchored, tagged := n.yaml.Anchor != "", n.yaml.Style&yaml.TaggedStyle != 0
	for {
		switch {
		case l.at(at) == '&' && anchored:
			anchored = false
			at += 1 + len(n.yaml.Anchor)
		case l.at(at) == '!' && (tagged || l.blankAt(at+1)):
			tagged = false
			for !l.blankAt(at) {
				at++
			}
		default:
			if n.body = at; n.empty() {
				n.body = n.end
			}
			return
		}
		n.props, n.end = at, at
		at = l.trivia(at)
	}
}

func (l *layout) content(n *node, in place) {
	switch {
	case n.empty():
	case n.yaml.Kind == yaml.AliasNode:
		l.expect(n.body, '*')
		n.end = n.body + 1 + len(n.yaml.Value)
	case n.pair:
		l.pair(n, in)
	case n.flow():
		l.flow(n, in)
	case n.yaml.Kind == yaml.MappingNode:
		l.blockMapping(n)
	case n.yaml.Kind == yaml.SequenceNode:
		l.blockSequence(n)
	default:
		l.scalar(n, in.indent)
	}
}

// expect gives up when a character is not where it must be.
func (l *layout) expect(at int, char byte) {
	if l.at(at) != char {
		l.lost = true
	}
}

func (l *layout) blockSequence(n *node) {
	n.column = l.column(n.body)
	at := n.body
	for _, y := range n.yaml.Content {
		at = l.trivia(at)
		l.expect(at, '-')
		if l.lost {
			return
		}
		item := l.node(y, n, place{from: at + 1, indent: n.column})
		n.slots = append(n.slots, slot{node: item, start: at, end: item.end, colon: at + 1, comma: -1})
		at = item.end
	}
	n.end = at
}

func (l *layout) blockMapping(n *node) {
	n.column = l.column(n.body)
	at := n.body
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		at = l.trivia(at)
		s := slot{start: at, colon: -1, comma: -1}
		explicit := l.at(at) == '?' && l.blankAt(at+1)
		if explicit {
			at++
		}
		s.key = l.node(n.yaml.Content[i], n, place{from: at, indent: n.column})
		if explicit {
			at = l.trivia(s.key.end)
		} else {
			at = l.blanks(s.key.end)
		}
		switch {
		case l.at(at) == ':' && l.blankAt(at+1) && (!explicit || l.column(at) == n.column):
			s.colon, at = at+1, at+1
		case explicit:
			at = s.key.end
		default:
			l.lost = true
		}
		if l.lost {
			return
		}
		at = l.value(n, &s, n.yaml.Content[i+1], place{from: at, indent: n.column})
	}
	n.end = at
}

// value finds the value of an entry, and closes the entry.
func (l *layout) value(n *node, s *slot, y *yaml.Node, in place) int {
	s.node = l.node(y, n, in)
	s.end = s.node.end
	if s.node.lone = s.colon < 0; s.node.lone && !s.node.empty() {
		l.lost = true
	}
	n.slots = append(n.slots, *s)
	return s.end
}

func (l *layout) flow(n *node, in place) {
	closing := byte('}')
	if n.yaml.Kind == yaml.SequenceNode {
		closing = ']'
	}
	at := n.body + 1
	for i := 0; i < len(n.yaml.Content) && !l.lost; {
		at = l.trivia(at)
		if closing == ']' {
			item := l.node(n.yaml.Content[i], n, place{from: at, indent: in.indent, inFlow: true})
			n.slots = append(n.slots, slot{node: item, start: item.start, end: item.end, colon: -1, comma: -1})
			at, i = item.end, i+1
		} else {
			at, i = l.flowEntry(n, i, at), i+2
		}
		if comma := l.trivia(at); l.at(comma) == ',' {
			n.slots[len(n.slots)-1].comma, at = comma, comma+1
		}
	}
	at = l.trivia(at)
	l.expect(at, closing)
	n.end = at + 1
}

func (l *layout) pair(n *node, in place) {
	in.inFlow = true
	n.end = l.flowEntry(n, 0, n.body)
}

// flowEntry finds one entry of a flow mapping, from its key to the end of its value.
func (l *layout) flowEntry(n *node, i, at int) int {
	s := slot{start: at, colon: -1, comma: -1}
	if l.at(at) == '?' {
		at++
	}
	s.key = l.node(n.yaml.Content[i], n, place{from: at, inFlow: true})
	at = s.key.end
	if colon := l.trivia(at); l.at(colon) == ':' {
		s.colon, at = colon+1, colon+1
	}
	return l.value(n, &s, n.yaml.Content[i+1], place{from: at, inFlow: true})
}
