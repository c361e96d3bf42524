package splice_test

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// expand copies a tree without aliases, merge keys and styles.
func expand(n *yaml.Node) *yaml.Node {
	switch n.Kind {
	case yaml.DocumentNode:
		return expand(n.Content[0])
	case yaml.AliasNode:
		return expand(n.Alias)
	case yaml.ScalarNode:
		return scalarNode(n.ShortTag(), n.Value)
	case yaml.SequenceNode:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: n.Tag}
		for _, item := range n.Content {
			list.Content = append(list.Content, expand(item))
		}
		return list
	default:
		return expandMapping(n)
	}
}

func expandMapping(n *yaml.Node) *yaml.Node {
	own := &yaml.Node{Kind: yaml.MappingNode, Tag: n.Tag}
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			merged = expand(n.Content[i+1])
			continue
		}
		own.Content = append(own.Content, expand(n.Content[i]), expand(n.Content[i+1]))
	}
	for i := 0; merged != nil && i+1 < len(merged.Content); i += 2 {
		if lookup(own, []string{merged.Content[i].Value}) == nil {
			own.Content = append(own.Content, merged.Content[i], merged.Content[i+1])
		}
	}
	return own
}

func collect(n *yaml.Node, all []*yaml.Node) []*yaml.Node {
	all = append(all, n)
	for i, child := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 {
			all = collect(child, all)
		}
	}
	return all
}

// mutate changes one thing somewhere in a tree.
func mutate(t *rapid.T, root *yaml.Node) {
	all := collect(root, nil)
	n := all[rapid.IntRange(0, len(all)-1).Draw(t, "node")]
	step := 2
	if n.Kind == yaml.SequenceNode {
		step = 1
	}
	size := len(n.Content) / step
	choice := rapid.IntRange(0, 5).Draw(t, "change")
	if n.Kind == yaml.ScalarNode || size == 0 || choice == 0 {
		*n = *plainNode(1).Draw(t, "value")
		return
	}
	at := step * rapid.IntRange(0, size-1).Draw(t, "at")
	switch choice {
	case 1, 2: // add
		part := []*yaml.Node{scalarNode("!!str", "added"), plainNode(2).Draw(t, "value")}
		if step == 2 && lookup(n, []string{"added"}) != nil {
			return
		}
		n.Content = slices.Insert(n.Content, at, part[2-step:]...)
	case 3: // delete
		n.Content = slices.Delete(n.Content, at, at+step)
	default: // move
		part := slices.Clone(n.Content[at : at+step])
		n.Content = append(slices.Delete(n.Content, at, at+step), part...)
	}
}
