package splice

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// differs finds the smallest node of the old text around a difference between what is wanted and what came out.
func (e *editor) differs(n *node, c change, got *value.Value) *node {
	if n.yaml.Kind == yaml.AliasNode || c.old.Kind != c.want.Kind || c.want.Kind != got.Kind {
		return n
	}
	if c.want.Kind == value.List {
		return e.itemDiffers(n, c, got)
	}
	if c.want.Kind != value.Map || len(c.want.Entries) != len(got.Entries) {
		return n
	}
	m := newMapping(n, c)
	wants, came := c.want.Index(), got.Index()
	for i, s := range n.slots {
		if i == m.merging || m.drop[i] {
			continue
		}
		entry := m.entry(i)
		want, came := wants[entry.Name], came[entry.Name]
		if came != nil && !came.EqualBelow(entry.Name, want) {
			return e.differs(s.node, change{old: entry.Value, want: want, key: entry.Name}, came)
		}
	}
	return n
}

func (e *editor) itemDiffers(n *node, c change, got *value.Value) *node {
	if len(c.want.Items) != len(got.Items) {
		return n
	}
	same := c.none()
	for i, item := range c.want.Items {
		if item.Equal(got.Items[i]) {
			continue
		}
		if same {
			return e.differs(n.slots[i].node, change{old: item, want: item}, got.Items[i])
		}
		if child, ok := e.paired[pairing{n, i}]; ok {
			for at, s := range n.slots {
				if s.node == child {
					return e.differs(child, change{old: c.old.Items[at], want: item}, got.Items[i])
				}
			}
		}
		return n
	}
	return n
}

// force marks a node to be written anew, or the next one around it when it already is.
func (n *node) force() {
	for n.forced && n.parent != nil {
		n = n.parent
	}
	n.forced = true
	for up := n.parent; up != nil; up = up.parent {
		up.restless = true
	}
}

// forceEdited marks all that was edited: the result could not be read, and nothing tells which edit is to blame.
func (e *editor) forceEdited() {
	owners := map[*node]bool{}
	for _, one := range e.edits {
		if one.owner != nil {
			owners[one.owner] = true
		}
	}
	for owner := range owners {
		owner.force()
	}
}
