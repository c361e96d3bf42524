package machine

import "go.yaml.in/yaml/v3"

// mergeTag is the tag of the key << in YAML.
const mergeTag = "!!merge"

// entry is one key of a mapping with its value, seen through aliases and merge keys.
type entry struct {
	key   string
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

// entries gives the keys of a mapping in their order. Keys of the mapping itself win over those that a merge brings in.
func entries(n *yaml.Node) []entry {
	n = through(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	all := make([]entry, 0, len(n.Content)/2)
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := through(n.Content[i])
		merges = merges || key.Tag == mergeTag
		all = append(all, entry{key: key.Value, value: through(n.Content[i+1])})
	}
	if !merges {
		return all
	}
	return merged(n)
}

func merged(n *yaml.Node) []entry {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := through(n.Content[i]); key.Tag != mergeTag {
			seen[key.Value] = true
		}
	}
	var all []entry
	take := func(from *yaml.Node) {
		for _, e := range entries(from) {
			if !seen[e.key] {
				seen[e.key] = true
				all = append(all, e)
			}
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := through(n.Content[i]), through(n.Content[i+1])
		switch {
		case key.Tag != mergeTag:
			all = append(all, entry{key: key.Value, value: v})
		case v.Kind == yaml.SequenceNode:
			for _, from := range v.Content {
				take(from)
			}
		default:
			take(v)
		}
	}
	return all
}

// Child gives the value of a key of a mapping, seen through aliases and merge keys; nil without one.
func Child(n *yaml.Node, key string) *yaml.Node {
	for _, e := range entries(n) {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// Children calls do for every key of a mapping, in order.
func Children(n *yaml.Node, do func(key string, child *yaml.Node) error) error {
	for _, e := range entries(n) {
		if err := do(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}
