package splice

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// comments gives the comments that stand in a part of the text, without the spaces around them.
func (d *document) comments(from, to int) []string {
	if d.scalars == nil {
		d.scalars = d.inside(d.root, []stretch{})
		slices.SortFunc(d.scalars, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	}
	var found []string
	next, _ := slices.BinarySearchFunc(d.scalars, from, func(s stretch, at int) int { return cmp.Compare(s.to, at) })
	for at := from; at < to; at++ {
		for next < len(d.scalars) && d.scalars[next].to <= at {
			next++
		}
		if next < len(d.scalars) && d.scalars[next].from <= at {
			at = d.scalars[next].to - 1
		} else if d.raw[at] == '#' {
			end := d.lineEnd(at)
			found = append(found, strings.TrimSpace(string(d.raw[at:end])))
			at = end
		}
	}
	return found
}

// inside gives the stretches of scalars, in which nothing is a comment.
func (d *document) inside(n *node, found []stretch) []stretch {
	if n == nil {
		return found
	}
	if n.yaml.Kind == yaml.ScalarNode && n.body < n.end {
		from := n.body
		if n.blockScalar() {
			from = min(d.lineEnd(n.head), n.end)
		}
		if from < n.end {
			found = append(found, stretch{from, n.end})
		}
	}
	for _, s := range n.slots {
		found = d.inside(s.node, d.inside(s.key, found))
	}
	return found
}
