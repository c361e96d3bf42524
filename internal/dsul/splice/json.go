package splice

import (
	"bytes"
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// isJSON tells whether a text is a JSON object or list. It is read as such: YAML would refuse some of it, such as escaped
// surrogate pairs, and read some line separators differently.
func isJSON(raw []byte) bool {
	bare := bytes.TrimPrefix(raw, []byte(bom))
	begun := bytes.TrimLeft(bare, " \t\r\n")
	return len(begun) > 0 && (begun[0] == '{' || begun[0] == '[') && json.Valid(bare)
}

// readJSON makes nodes of a JSON text, styled as the same text would be in YAML.
func readJSON(raw []byte) *yaml.Node {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(raw, []byte(bom))))
	decoder.UseNumber()
	token, err := decoder.Token()
	if err != nil {
		return nil
	}
	return jsonNode(decoder, token)
}

func jsonNode(decoder *json.Decoder, token json.Token) *yaml.Node {
	switch t := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		if t == '[' {
			n.Kind = yaml.SequenceNode
		}
		for {
			next, err := decoder.Token()
			if err != nil || next == json.Delim('}') || next == json.Delim(']') {
				return n
			}
			n.Content = append(n.Content, jsonNode(decoder, next))
		}
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t, Style: yaml.DoubleQuotedStyle}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: string(t)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(t)}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}
