package splice

import (
	"atelier/internal/dsul/internal/value"
)

// mapping is the work of editing one mapping.
type mapping struct {
	*reshape
	n       *node
	change  change
	wanted  map[string]int
	own     []int          // the place of each slot's entry in what the mapping means, -1 for the merge key
	has     map[string]int // the slots of the keys that stay, that of the merge key for what comes through it
	merging int            // the slot of the merge key, -1 without one
}

func (e *editor) syncMap(n *node, c change) {
	m := newMapping(n, c)
	reordering := c.ordered() && !c.none()
	switch {
	case m.last(len(n.slots)-1) < 0,
		reordering && m.merging >= 0: // which order a merge key gives is not written anywhere
		e.replace(n, c)
		return
	case reordering && !m.inOrder():
		e.reorder(m)
		return
	}
	e.entries(m)
	if m.last(len(n.slots)-1) < 0 {
		e.replace(n, c)
		return
	}
	m.additions(c.ordered() || e.style.lender != nil)
	e.reshape(n, c, m.reshape)
}

func newMapping(n *node, c change) *mapping {
	m := &mapping{reshape: newReshape(n), n: n, change: c, wanted: map[string]int{}, has: map[string]int{}, merging: -1}
	for i, entry := range c.want.Entries {
		m.wanted[entry.Name] = i
	}
	at := 0
	for i, s := range n.slots {
		for at < len(c.old.Entries) && c.old.Entries[at].Merged {
			at++
		}
		if value.IsMerge(s.key.yaml) {
			m.own, m.merging = append(m.own, -1), i
			continue
		}
		name := c.old.Entries[at].Name
		if _, stays := m.wanted[name]; stays {
			m.has[name] = i
		} else {
			m.drop[i] = true
		}
		m.own = append(m.own, at)
		at++
	}
	return m
}

// entry is the entry of a slot in what the mapping means.
func (m *mapping) entry(slot int) value.Entry { return m.change.old.Entries[m.own[slot]] }

// entries edits the values of the keys that stay, in the order of the text.
func (e *editor) entries(m *mapping) {
	for i, s := range m.n.slots {
		switch {
		case i == m.merging:
		case m.drop[i]:
			e.changed.gone(s.key)
			e.changed.gone(s.node)
		default:
			e.syncEntry(m, i)
		}
	}
	if m.merging >= 0 {
		e.merge(m)
	}
}

func (e *editor) syncEntry(m *mapping, slot int) {
	entry := m.entry(slot)
	want := m.change.want.Entries[m.wanted[entry.Name]].Value
	e.sync(m.n.slots[slot].node, change{old: entry.Value, want: want, key: entry.Name})
}

// merge decides what becomes of the merge key: it stays when nothing comes through it that is not wanted. Keys that it
// brings and that are wanted otherwise are added to the mapping itself, where they win.
func (e *editor) merge(m *mapping) {
	s := m.n.slots[m.merging]
	brought, ok := e.brought(s.node)
	var through []string
	for _, entry := range brought {
		at, wanted := m.wanted[entry.Name]
		_, own := m.has[entry.Name]
		switch {
		case !wanted:
			ok = false
		case own:
		case entry.Value.EqualBelow(entry.Name, m.change.want.Entries[at].Value):
			through = append(through, entry.Name)
		}
	}
	if !ok {
		m.drop[m.merging] = true
		e.changed.gone(s.node)
		return
	}
	for _, name := range through {
		m.has[name] = m.merging
	}
}

// brought gives the entries that a merge key will bring after the edits; ok is false when a source will be gone.
func (e *editor) brought(n *node) (entries []value.Entry, ok bool) {
	sources := []*node{n}
	if len(n.slots) > 0 && n.slots[0].key == nil {
		sources = nil
		for _, s := range n.slots {
			sources = append(sources, s.node)
		}
	}
	var values []*value.Value
	for _, source := range sources {
		v, err := value.Of(source.yaml)
		if err != nil {
			return nil, false
		}
		if source.yaml.Alias != nil {
			if v, ok = e.changed.target(source.yaml, v); !ok {
				return nil, false
			}
		}
		if v.Kind == value.List {
			values = append(values, v.Items...)
		} else {
			values = append(values, v)
		}
	}
	entries, err := value.Merge(value.NewList(values))
	return entries, err == nil
}

// inOrder tells whether the keys that stay are in the wanted order among themselves.
func (m *mapping) inOrder() bool {
	last := -1
	for i := range m.n.slots {
		if m.drop[i] {
			continue
		}
		at := m.wanted[m.entry(i).Name]
		if at < last {
			return false
		}
		last = at
	}
	return true
}

// additions notes the keys that come: at the end, or each in its place, behind the key that it follows in what is wanted.
func (m *mapping) additions(placed bool) {
	behind := len(m.n.slots) - 1
	if placed {
		behind = -1
	}
	for _, entry := range m.change.want.Entries {
		at, known := m.has[entry.Name]
		switch {
		case !known:
			m.insert(behind, addition{entry: entry})
		case placed:
			behind = at
		}
	}
}

// reorder puts the entries of a mapping into the wanted order, each with its comments and its edits.
func (e *editor) reorder(m *mapping) {
	n := m.n
	if !n.block() || e.shares(n.slots[0]) {
		e.replace(n, m.change)
		return
	}
	chunks := e.chunks(n)
	for i, s := range n.slots {
		if m.drop[i] {
			e.changed.gone(s.key)
			e.changed.gone(s.node)
		}
	}
	var lines []string
	open := false
	for _, entry := range m.change.want.Entries {
		i, known := m.has[entry.Name]
		if !known {
			var more []string
			more, open = e.style.entry(entry, n.column)
			lines = append(lines, more...)
			continue
		}
		from := chunks[i].from
		if i > 0 {
			from = chunks[i-1].to
		}
		made := e.aside(func() { e.syncEntry(m, i) })
		piece, ok := e.apply(made, from, chunks[i].to, e.style.nl)
		if !ok {
			e.replace(n, m.change)
			return
		}
		lines, open = append(lines, string(piece[:beforeBreak(piece, len(piece))])), false
	}
	e.put(edit{from: chunks[0].from, to: chunks[len(chunks)-1].to, with: e.join(lines), lines: true, open: open, owner: n})
}
