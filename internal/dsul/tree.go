package dsul

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// entry is one key of a mapping with its value, seen through aliases and merge keys.
type entry struct {
	key   string
	at    *yaml.Node // the node of the key
	value *yaml.Node
}

// through follows an alias to what it stands for.
func through(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		return through(n.Content[0])
	}
	return n
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == tagMerge }

// entries gives the keys of a mapping in their order. Keys that a merge brings in stand where the merge stands; keys of
// the mapping itself win over them, and earlier merges over later ones.
func entries(n *yaml.Node) []entry {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	all := make([]entry, 0, len(n.Content)/2)
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := through(n.Content[i])
		all = append(all, entry{key: key.Value, at: key, value: through(n.Content[i+1])})
		merges = merges || isMerge(key)
	}
	if merges {
		return withMerged(all)
	}
	return all
}

func withMerged(all []entry) []entry {
	seen := make(map[string]bool, len(all))
	for _, e := range all {
		if !isMerge(e.at) {
			seen[e.key] = true
		}
	}
	merged := make([]entry, 0, len(all))
	take := func(from *yaml.Node) {
		for _, e := range entries(from) {
			if !seen[e.key] {
				seen[e.key] = true
				merged = append(merged, e)
			}
		}
	}
	for _, e := range all {
		switch {
		case !isMerge(e.at):
			merged = append(merged, e)
		case e.value.Kind == yaml.SequenceNode:
			for _, from := range e.value.Content {
				take(through(from))
			}
		default:
			take(e.value)
		}
	}
	return merged
}

// get gives the value of a key, nil when the node is no mapping or has no such key.
func get(n *yaml.Node, key string) *yaml.Node {
	n = through(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := through(n.Content[i])
		if isMerge(at) {
			merges = true
		} else if at.Value == key {
			return through(n.Content[i+1])
		}
	}
	if merges {
		for _, e := range entries(n) {
			if e.key == key {
				return e.value
			}
		}
	}
	return nil
}

// Get gives the node at a path of keys (and indexes of lists, from "0"), seen through aliases and merge keys; nil when
// there is none.
func (d *Document) Get(path ...string) *yaml.Node {
	n := through(d.Root)
	for _, step := range path {
		if n == nil {
			return nil
		}
		if n.Kind != yaml.SequenceNode {
			n = get(n, step)
			continue
		}
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(n.Content) {
			return nil
		}
		n = through(n.Content[i])
	}
	return n
}

func isText(n *yaml.Node) bool { return n != nil && n.Kind == yaml.ScalarNode && Tag(n) == tagStr }

func isNull(n *yaml.Node) bool { return n != nil && n.Kind == yaml.ScalarNode && Tag(n) == tagNull }

func isTrue(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && Tag(n) == tagBool && (n.Value[0] == 't' || n.Value[0] == 'T')
}

// scalarText is the text of a scalar as it was written, nothing for null and collections.
func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || Tag(n) == tagNull {
		return ""
	}
	return n.Value
}
