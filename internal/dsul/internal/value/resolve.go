package value

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// resolver turns nodes into values. What an anchor stands for is resolved once and shared by its aliases.
type resolver struct {
	known map[*yaml.Node]*Value // nil while it is being resolved
	depth int
}

func (r *resolver) resolve(node *yaml.Node) (*Value, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return nil, ErrTooLarge
	}
	if node == nil {
		return (&Value{Kind: Null}).seal(), nil
	}
	switch node.Kind {
	case yaml.DocumentNode:
		if len(node.Content) == 0 {
			return (&Value{Kind: Null}).seal(), nil
		}
		return r.resolve(node.Content[0])
	case yaml.AliasNode:
		if node.Alias == nil {
			return nil, fmt.Errorf("line %d: the alias %q has no anchor", node.Line, node.Value)
		}
		return r.resolve(node.Alias)
	case yaml.MappingNode, yaml.SequenceNode:
		return r.collection(node)
	default:
		return scalar(node)
	}
}

func (r *resolver) collection(node *yaml.Node) (*Value, error) {
	if known, ok := r.known[node]; ok {
		if known == nil {
			return nil, ErrTooLarge
		}
		return known, nil
	}
	r.known[node] = nil
	v := &Value{Kind: Map, Tag: ownTag(node, "!!map")}
	var err error
	if node.Kind == yaml.SequenceNode {
		v.Kind, v.Tag = List, ownTag(node, "!!seq")
		v.Items, err = r.items(node)
	} else {
		v.Entries, err = r.entries(node)
	}
	if err != nil {
		return nil, err
	}
	r.known[node] = v.seal()
	return v.check()
}

func (r *resolver) items(node *yaml.Node) ([]*Value, error) {
	items := make([]*Value, 0, len(node.Content))
	for _, child := range node.Content {
		item, err := r.resolve(child)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (r *resolver) entries(node *yaml.Node) ([]Entry, error) {
	entries := make([]Entry, 0, len(node.Content)/2)
	names := make(map[string]bool, len(node.Content)/2)
	var merge *yaml.Node
	place := 0
	for i := 0; i+1 < len(node.Content); i += 2 {
		if IsMerge(node.Content[i]) {
			if merge != nil {
				return nil, duplicate(node.Content[i], "<<")
			}
			merge, place = node.Content[i+1], len(entries)
			continue
		}
		entry, err := r.entry(node.Content[i], node.Content[i+1])
		if err != nil {
			return nil, err
		}
		if names[entry.Name] {
			return nil, duplicate(node.Content[i], entry.Name)
		}
		names[entry.Name] = true
		entries = append(entries, entry)
	}
	if merge == nil {
		return entries, nil
	}
	return r.merge(entries, place, merge)
}

func (r *resolver) entry(key, content *yaml.Node) (Entry, error) {
	k, err := r.resolve(key)
	if err != nil {
		return Entry{}, err
	}
	v, err := r.resolve(content)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Name: keyName(key, k), Key: k, Value: v}, nil
}

// merge puts the entries that a merge key brings where the merge key stands. Keys of the mapping itself win, then those
// of earlier sources.
func (r *resolver) merge(own []Entry, place int, node *yaml.Node) ([]Entry, error) {
	v, err := r.resolve(node)
	if err != nil {
		return nil, err
	}
	brought, err := Merge(v)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", node.Line, err)
	}
	names := make(map[string]bool, len(own))
	for _, entry := range own {
		names[entry.Name] = true
	}
	all := append(make([]Entry, 0, len(own)+len(brought)), own[:place]...)
	for _, entry := range brought {
		if !names[entry.Name] {
			all = append(all, entry)
		}
	}
	return append(all, own[place:]...), nil
}

// Merge gives the entries that the value of a merge key brings: those of a mapping, or of a list of mappings.
func Merge(v *Value) ([]Entry, error) {
	sources := []*Value{v}
	if v.Kind == List {
		sources = v.Items
	}
	names := map[string]bool{}
	var brought []Entry
	for _, source := range sources {
		if source.Kind != Map {
			return nil, errors.New("a merge key needs a mapping or a list of mappings")
		}
		for _, entry := range source.Entries {
			if !names[entry.Name] {
				names[entry.Name] = true
				entry.Merged = true
				brought = append(brought, entry)
			}
		}
	}
	return brought, nil
}

// IsMerge tells whether a key is the merge key, not a key that is called so.
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge"
}

// ownTag is the tag of a node unless every such node has it.
func ownTag(node *yaml.Node, usual string) string {
	if tag := node.ShortTag(); tag != usual {
		return tag
	}
	return ""
}

func checkText(node *yaml.Node) error {
	if !utf8.ValidString(node.Value) {
		return fmt.Errorf("line %d: the text is not valid UTF-8", node.Line)
	}
	return nil
}
