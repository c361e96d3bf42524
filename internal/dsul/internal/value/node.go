package value

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Node makes a node that means the value, without aliases, merge keys and style; nil for a nil value. Parts that the value
// shares are shared by the node.
func (v *Value) Node() *yaml.Node {
	if v == nil {
		return nil
	}
	return nodes{}.of(v)
}

type nodes map[*Value]*yaml.Node

func (made nodes) of(v *Value) *yaml.Node {
	if known := made[v]; known != nil {
		return known
	}
	n := scalarNode(v, v.Text)
	switch v.Kind {
	case List:
		n.Kind = yaml.SequenceNode
		for _, item := range v.Items {
			n.Content = append(n.Content, made.of(item))
		}
	case Map:
		n.Kind = yaml.MappingNode
		for _, entry := range v.Entries {
			n.Content = append(n.Content, made.key(entry), made.of(entry.Value))
		}
	case Null:
		n.Value = "null"
	default:
	}
	made[v] = n
	return n
}

func (made nodes) key(entry Entry) *yaml.Node {
	if entry.Key.Collection() {
		return made.of(entry.Key)
	}
	return scalarNode(entry.Key, entry.Name)
}

// scalarNode makes a node with the tag of a value.
func scalarNode(v *Value, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: v.Tag, Value: text}
	if v.Tag != "" {
		n.Style = yaml.TaggedStyle
		return n
	}
	switch v.Kind {
	case Null:
		n.Tag = "!!null"
	case Bool:
		n.Tag = "!!bool"
	case Number:
		n.Tag = "!!int"
		if strings.ContainsAny(text, ".eE") {
			n.Tag = "!!float"
		}
	case List:
		n.Tag = "!!seq"
	case Map:
		n.Tag = "!!map"
	default:
		n.Tag = "!!str"
	}
	return n
}
