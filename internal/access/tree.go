package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/errs"
	"atelier/internal/strictjson"
)

const (
	documentBytes = 1 << 20
	documentNodes = 100_000
	documentDepth = 32
)

// readTree reads JSON or YAML into maps, lists and plain values; numbers are int64 or float64.
func readTree(text []byte) (any, error) {
	if len(text) > documentBytes {
		return nil, broken("the document is larger than 1 MiB")
	}
	if !utf8.Valid(text) {
		return nil, broken("the document is not UTF-8 text")
	}
	var tree any
	var err error
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		tree, err = readJSON(trimmed)
	} else {
		tree, err = readYAML(text)
	}
	if err != nil {
		return nil, broken(err.Error())
	}
	return tree, nil
}

func broken(message string) error {
	return errs.Invalid(errs.Field{Field: "security", Message: message})
}

func readJSON(text []byte) (any, error) {
	if err := strictjson.Check(text, strictjson.Limits{Depth: documentDepth, Members: documentNodes}); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, errors.New("the document is not JSON")
	}
	return plainNumbers(tree)
}

// plainNumbers replaces the texts of numbers by their values.
func plainNumbers(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		if whole, err := x.Int64(); err == nil {
			return whole, nil
		}
		if number, err := x.Float64(); err == nil {
			return number, nil
		}
		return nil, fmt.Errorf("the number %.40s is too large", x.String())
	case []any:
		for i := range x {
			if x[i], err = plainNumbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range x {
			if x[key], err = plainNumbers(x[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func readYAML(text []byte) (any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return map[string]any{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("the document is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one YAML document")
	}
	y := yamlReader{left: documentNodes}
	return y.value(&root, 0)
}

// yamlReader bounds what aliases may blow a document up to.
type yamlReader struct{ left int }

func (y *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if y.left--; y.left < 0 || depth > documentDepth {
		return nil, errors.New("the document is too large or nests too deeply")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0], depth)
	case yaml.AliasNode:
		return y.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		return y.list(n, depth)
	case yaml.MappingNode:
		return y.mapping(n, depth)
	default:
		return scalarNode(n)
	}
}

func (y *yamlReader) list(n *yaml.Node, depth int) (any, error) {
	list := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := y.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (y *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	object := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := y.value(n.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok || n.Content[i].Tag == "!!merge" {
			return nil, fmt.Errorf("line %d: keys must be plain text", n.Content[i].Line)
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("line %d: the key %.60q is there twice", n.Content[i].Line, name)
		}
		if object[name], err = y.value(n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func scalarNode(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
		var b bool
		return b, n.Decode(&b)
	case "!!int":
		var whole int64
		if n.Decode(&whole) == nil {
			return whole, nil
		}
		fallthrough
	case "!!float":
		var number float64
		if err := n.Decode(&number); err != nil {
			return nil, fmt.Errorf("line %d: the number is too large", n.Line)
		}
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, fmt.Errorf("line %d: a plain number is expected", n.Line)
		}
		return number, nil
	default:
		if strings.ContainsRune(n.Value, 0) {
			return nil, fmt.Errorf("line %d: the text contains a zero character", n.Line)
		}
		return n.Value, nil
	}
}
