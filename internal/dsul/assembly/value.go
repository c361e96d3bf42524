package assembly

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
)

// Value is what a node of a parsed document is in the language; undefined without a node.
func Value(n *yaml.Node) any {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil {
		return value.Undefined{}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return object(n)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			list = append(list, Value(item))
		}
		return list
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
		return scalar(n)
	default:
		return value.Undefined{}
	}
}

func object(n *yaml.Node) any {
	made := value.NewObject(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Tag == "!!merge" { // who wins is not easy to say: it is said in one place
			return decoded(n)
		}
		made.Set(key.Value, Value(n.Content[i+1]))
	}
	return made
}

func scalar(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return decoded(n)
	}
	switch dsul.Tag(n) {
	case "!!str":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return n.Value[0] == 't' || n.Value[0] == 'T'
	case "!!int":
		if small, err := strconv.ParseInt(n.Value, 10, 32); err == nil {
			return float64(small)
		}
	}
	return decoded(n)
}

// decoded goes through JSON, which knows every form that a node can have.
func decoded(n *yaml.Node) any {
	v, err := value.Decode(string(dsul.JSON(n)))
	if err != nil { // deeper than any value may be
		return value.Undefined{}
	}
	return v
}
