package splice

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// change is what a node means, and what it shall mean.
type change struct {
	old, want *value.Value
	key       string // the key whose value it is: below some, the order of keys matters
}

func (c change) none() bool { return c.old.EqualBelow(c.key, c.want) }

// ordered tells whether the order of keys is to be as wanted.
func (c change) ordered() bool { return value.OrderMatters(c.key) }

// pairing names a wanted item of a list in the text.
type pairing struct {
	list *node
	item int
}

// sync edits a node where it differs from what it shall mean.
func (e *editor) sync(n *node, c change) {
	same := c.none()
	switch {
	case n.forced:
		e.replace(n, c)
	case n.yaml.Kind == yaml.AliasNode:
		if now, ok := e.changed.target(n.yaml, c.old); !ok || !now.EqualBelow(c.key, c.want) {
			e.replace(n, c)
		}
	case same && !n.restless && (!n.aliases || len(e.changed) == 0):
	case c.old.Kind != c.want.Kind || c.old.Tag != c.want.Tag || !c.want.Collection():
		e.replace(n, c)
	case !same && e.remarked(n, c) && e.take(n, c):
	default:
		if !same {
			e.changed.becomes(n, c.want)
		}
		if c.want.Kind == value.Map {
			e.syncMap(n, c)
		} else {
			e.syncList(n, c)
		}
	}
}

// addition is a new entry or item. lines is its text when it has one already.
type addition struct {
	entry value.Entry // an item has no name and no key
	lines string
}

// reshape is how the slots of a collection change: which go, and what comes behind which. Behind -1 is before the first.
type reshape struct {
	drop []bool
	add  map[int][]addition
}

func newReshape(n *node) *reshape {
	return &reshape{drop: make([]bool, len(n.slots)), add: map[int][]addition{}}
}

func (r *reshape) nothing() bool {
	for _, gone := range r.drop {
		if gone {
			return false
		}
	}
	return len(r.add) == 0
}

// last gives the last slot that stays, at or before a slot; -1 when none does.
func (r *reshape) last(at int) int {
	for at >= 0 && r.drop[at] {
		at--
	}
	return at
}

// first gives the first slot that stays, at or behind a slot.
func (r *reshape) first(at int) int {
	for at < len(r.drop) && r.drop[at] {
		at++
	}
	return at
}

// insert adds something behind a slot. When that goes, it comes behind the one before it.
func (r *reshape) insert(behind int, one addition) {
	behind = r.last(behind)
	r.add[behind] = append(r.add[behind], one)
}

// reshape changes which slots a collection has. One that keeps nothing is written anew.
func (e *editor) reshape(n *node, c change, r *reshape) {
	switch {
	case r.nothing():
	case r.last(len(n.slots)-1) < 0 || n.pair:
		e.replace(n, c)
	case n.flow():
		e.reshapeFlow(n, r)
	default:
		e.reshapeBlock(n, r)
	}
}

func (e *editor) syncList(n *node, c change) {
	r := newReshape(n)
	for i := range r.drop {
		r.drop[i] = true
	}
	pairs := value.Pairs(c.old.Items, c.want.Items)
	behind := make([]int, len(c.want.Items)) // the slot of each wanted item, -1 for new ones
	for i := range behind {
		behind[i] = -1
	}
	for _, p := range pairs {
		r.drop[p.From], behind[p.To] = false, p.From
	}
	for i, s := range n.slots {
		if r.drop[i] {
			e.changed.gone(s.node)
		}
	}
	moved := e.movable(n, c.old.Items, r.drop)
	last := -1
	for i, at := range behind {
		if at < 0 {
			r.insert(last, addition{entry: value.Entry{Value: c.want.Items[i]}, lines: moved.take(c.want.Items[i])})
			continue
		}
		last = at
		e.paired[pairing{n, i}] = n.slots[at].node
	}
	if r.last(len(n.slots)-1) < 0 {
		e.replace(n, c)
		return
	}
	for _, p := range pairs {
		e.sync(n.slots[p.From].node, change{old: c.old.Items[p.From], want: c.want.Items[p.To]})
	}
	e.reshape(n, c, r)
}

// moving holds the texts of items that go, to be used again where equal ones come.
type moving struct {
	values []*value.Value
	lines  []string
}

// movable gives the texts of the items of a block list that go.
func (e *editor) movable(n *node, old []*value.Value, drop []bool) *moving {
	m := &moving{}
	if n.flow() {
		return m
	}
	var chunks []chunk
	for i, s := range n.slots {
		if !drop[i] || s.node.anchors || s.node.aliases || e.shares(s) || len(m.values) > maxMoved {
			continue
		}
		if chunks == nil {
			chunks = e.chunks(n)
		}
		end := chunks[i].to
		if breakAt(e.raw, e.lineEnd(s.end)) == 0 {
			continue // its last line has no end
		}
		m.values = append(m.values, old[i])
		m.lines = append(m.lines, string(e.raw[chunks[i].from:e.beforeBreak(end)]))
	}
	return m
}

// maxMoved bounds how many items are looked for: a list that is wholly different is not searched for moves.
const maxMoved = 200

func (m *moving) take(want *value.Value) string {
	for i, v := range m.values {
		if v != nil && v.Equal(want) {
			m.values[i] = nil
			return m.lines[i]
		}
	}
	return ""
}
