package splice

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// anchors holds what nodes with an anchor will mean after the edits, nil for those that will be gone. Aliases come behind
// their anchors, so that it is known by the time an alias is reached.
type anchors map[*yaml.Node]*value.Value

// becomes notes what a node will mean.
func (a anchors) becomes(n *node, want *value.Value) {
	if n.yaml.Anchor != "" {
		a[n.yaml] = want
	}
}

// gone notes that what is inside a node is no longer in the text.
func (a anchors) gone(n *node) {
	if !n.anchors {
		return
	}
	if n.yaml.Anchor != "" {
		a[n.yaml] = nil
	}
	for _, s := range n.slots {
		if s.key != nil {
			a.gone(s.key)
		}
		a.gone(s.node)
	}
}

// replaced notes that a node is written anew: its own anchor stays, those inside do not.
func (a anchors) replaced(n *node, want *value.Value) {
	a.gone(n)
	a.becomes(n, want)
}

// target gives what an alias will mean; ok is false when its anchor will be gone.
func (a anchors) target(alias *yaml.Node, old *value.Value) (v *value.Value, ok bool) {
	now, touched := a[alias.Alias]
	if !touched {
		return old, true
	}
	return now, now != nil
}
