package dsul

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// JSON gives the document as JSON: keys in their order, aliases and merge keys resolved, numbers with their digits.
func (d *Document) JSON() ([]byte, error) {
	if d.Root == nil {
		return nil, errors.New("dsul: a document that cannot be read has no JSON")
	}
	return JSON(d.Root), nil
}

// JSON gives a node as JSON, as Document.JSON does. The node must come from a parsed document, or be free of aliases to
// itself.
func JSON(n *yaml.Node) []byte { return appendJSON(nil, through(n)) }

func appendJSON(out []byte, n *yaml.Node) []byte {
	if n == nil {
		return append(out, "null"...)
	}
	switch n.Kind {
	case yaml.MappingNode:
		out = append(out, '{')
		for i, e := range entries(n) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, e.key), ':')
			out = appendJSON(out, e.value)
		}
		return append(out, '}')
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, through(item))
		}
		return append(out, ']')
	default:
		return appendScalar(out, n)
	}
}

func appendScalar(out []byte, n *yaml.Node) []byte {
	switch Tag(n) {
	case tagNull:
		return append(out, "null"...)
	case tagBool:
		return strconv.AppendBool(out, isTrue(n))
	case tagInt, tagFloat:
		number, _ := jsonNumber(n.Value)
		return append(out, number...)
	default:
		return appendString(out, n.Value)
	}
}

// appendString writes a JSON string. Unlike the standard encoder it leaves <, > and & as they are.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[from:i]...)
		from = i + 1
		if short := strings.IndexByte("\"\\\n\t\r\b\f", c); short >= 0 {
			out = append(out, '\\', `"\ntrbf`[short])
		} else {
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	out = append(out, s[from:]...)
	return append(out, '"')
}
