package dsul

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Encode writes a node as YAML in block style: two spaces, keys in their order, texts of several lines as blocks, numbers
// with their digits, comments, anchors and aliases kept. Texts that any YAML reader might take for something else are in
// quotes. The result ends with a line end and reads back as the same value.
func Encode(n *yaml.Node) []byte {
	e := emitter{}
	if n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return []byte("null\n")
		}
		n = n.Content[0]
	}
	switch {
	case n == nil:
		return []byte("null\n")
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Anchor == "":
		e.mapping(n, 0, false)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Anchor == "":
		e.sequence(n, 0, false)
	default:
		e.value(n, -indentStep, "")
		return bytes.TrimPrefix(e.out, []byte(" "))
	}
	return e.out
}

const (
	indentStep = 2
	// longestKey is the longest key that may stand before its colon; a YAML reader looks no further than 1024.
	longestKey = 1000
)

type emitter struct{ out []byte }

func (e *emitter) write(texts ...string) {
	for _, text := range texts {
		e.out = append(e.out, text...)
	}
}

func (e *emitter) pad(indent int) {
	for range indent {
		e.out = append(e.out, ' ')
	}
}

// comment writes lines of comments before or after something.
func (e *emitter) comment(text string, indent int) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line != "" {
			e.pad(indent)
			if line[0] != '#' {
				e.write("# ")
			}
			e.write(line)
		}
		e.write("\n")
	}
}

func (e *emitter) foot(text string, indent int) {
	if text != "" {
		e.comment(text, indent)
		e.write("\n")
	}
}

// mapping writes the keys of a mapping, one a line. The first one is continued on the current line after "- ".
func (e *emitter) mapping(n *yaml.Node, indent int, continued bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if i > 0 || !continued {
			e.comment(key.HeadComment, indent)
			if value.HeadComment != "" && !isBlock(value) {
				e.comment(value.HeadComment, indent)
			}
			e.pad(indent)
		}
		e.key(key, indent)
		e.value(value, indent, key.LineComment)
		e.foot(key.FootComment, indent)
	}
}

// key writes a key and its colon.
func (e *emitter) key(n *yaml.Node, indent int) {
	text := n.Value
	switch {
	case n.Kind == yaml.AliasNode:
		text = "*" + n.Value + " "
	case isMerge(n):
	case Tag(n) == tagStr || n.Value == "":
		text = quote(n.Value)
	}
	if n.Anchor != "" {
		text = "&" + n.Anchor + " " + text
	}
	if len(text) > longestKey {
		e.write("? ", text, "\n")
		e.pad(indent)
		e.write(":")
		return
	}
	e.write(text, ":")
}

func (e *emitter) sequence(n *yaml.Node, indent int, continued bool) {
	for i, item := range n.Content {
		if i > 0 || !continued {
			e.comment(item.HeadComment, indent)
			e.pad(indent)
		}
		e.write("-")
		if isBlock(item) && item.Anchor == "" && headless(item) {
			e.write(" ")
			if item.Kind == yaml.MappingNode {
				e.mapping(item, indent+indentStep, true)
			} else {
				e.sequence(item, indent+indentStep, true)
			}
		} else {
			bare := *item
			bare.HeadComment = ""
			e.value(&bare, indent, "")
		}
		e.foot(item.FootComment, indent)
	}
}

// isBlock tells whether a node takes lines of its own.
func isBlock(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) > 0
}

// headless tells whether the first line inside a block has no comment that must stand before it.
func headless(n *yaml.Node) bool {
	first := n.Content[0]
	if first.HeadComment != "" || n.Kind == yaml.MappingNode && n.Content[1].HeadComment != "" {
		return false
	}
	return !isBlock(first) || n.Kind == yaml.MappingNode || headless(first)
}

// value writes what stands after a colon or a dash, and ends the line.
func (e *emitter) value(n *yaml.Node, indent int, comment string) {
	if comment == "" {
		comment = n.LineComment
	}
	if n.Anchor != "" {
		e.write(" &", n.Anchor)
	}
	if comment != "" {
		comment = " " + strings.ReplaceAll(comment, "\n", " ")
	}
	switch {
	case n.Kind == yaml.AliasNode:
		e.write(" *", n.Value, comment, "\n")
	case n.Kind == yaml.ScalarNode:
		e.scalar(n, indent, comment)
	case len(n.Content) == 0 && n.Kind == yaml.MappingNode:
		e.write(" {}", comment, "\n")
	case len(n.Content) == 0:
		e.write(" []", comment, "\n")
	default:
		e.write(comment, "\n")
		e.comment(n.HeadComment, indent+indentStep)
		if n.Kind == yaml.MappingNode {
			e.mapping(n, indent+indentStep, false)
		} else {
			e.sequence(n, indent+indentStep, false)
		}
	}
}

func (e *emitter) scalar(n *yaml.Node, indent int, comment string) {
	text := n.Value
	switch Tag(n) {
	case tagNull:
		text = "null"
	case tagBool, tagInt, tagFloat:
	default:
		if literal(n.Value) {
			e.literal(n.Value, max(indent, 0)+indentStep, comment)
			return
		}
		text = quote(n.Value)
	}
	e.write(" ", text, comment, "\n")
}

// literal writes a text of several lines as they are, indented.
func (e *emitter) literal(text string, indent int, comment string) {
	header := " |-"
	body := text
	switch {
	case strings.HasSuffix(text, "\n\n"):
		header, body = " |+", text[:len(text)-1]
	case strings.HasSuffix(text, "\n"):
		header, body = " |", text[:len(text)-1]
	}
	e.write(header, comment, "\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			e.pad(indent)
			e.write(line)
		}
		e.write("\n")
	}
}
