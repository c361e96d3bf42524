package dsul

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/strictjson"
)

func jsonLimits() strictjson.Limits { return strictjson.Limits{Depth: maxDepth, Members: maxNodes} }

// FromJSON makes a document of a JSON object: its text is YAML in block style with the keys in their order. The nodes have
// no lines, because nobody has seen that text yet.
func FromJSON(kind Kind, slug string, raw []byte) (*Document, Problems) {
	d := &Document{Kind: kind, Slug: slug}
	if problem := checkJSON(raw); problem != nil {
		return d, d.failed(Problems{*problem})
	}
	root := jsonNodes(raw, false)
	if problems := survey(root); len(problems) > 0 {
		return d, d.failed(problems)
	}
	text := Encode(root)
	if len(text) > maxText {
		return d, d.failed(Problems{{Code: "too_large", Message: fmt.Sprintf("the document is larger than %d bytes", maxText)}})
	}
	d.Root, d.Text = root, text
	return d, nil
}

func checkJSON(raw []byte) *Problem {
	if len(raw) > 2*maxText {
		return &Problem{Code: "too_large", Message: fmt.Sprintf("the document is larger than %d bytes", maxText)}
	}
	if err := strictjson.Check(raw, jsonLimits()); err != nil {
		problem := &Problem{Code: "bad_json", Message: err.Error()}
		if broken, ok := errors.AsType[*strictjson.Error](err); ok {
			before := raw[:min(broken.Offset, len(raw))]
			problem.Line = bytes.Count(before, []byte("\n")) + 1
			problem.Column = len(before) - bytes.LastIndexByte(before, '\n')
			problem.Message = broken.Message
		}
		return problem
	}
	if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
		return &Problem{Code: "wrong_type", Message: "the document must be an object"}
	}
	return nil
}

// jsonNodes makes nodes of a JSON text that strictjson has accepted.
func jsonNodes(raw []byte, placed bool) *yaml.Node {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	reader := jsonReader{decoder: decoder, raw: raw, placed: placed, line: 1}
	token, err := reader.next()
	if err != nil {
		return nil
	}
	return reader.value(token)
}

type jsonReader struct {
	decoder     *json.Decoder
	raw         []byte
	placed      bool // nodes get the line and column of the text
	line, start int  // the current line, and where it starts
	seen        int  // how far lines are counted
	at          int  // where the current token begins
}

func (r *jsonReader) next() (json.Token, error) {
	at := int(r.decoder.InputOffset())
	for at < len(r.raw) && strings.IndexByte(" \t\r\n,:", r.raw[at]) >= 0 {
		at++
	}
	r.at = at
	for ; r.placed && r.seen < at; r.seen++ {
		if r.raw[r.seen] == '\n' {
			r.line, r.start = r.line+1, r.seen+1
		}
	}
	return r.decoder.Token()
}

func (r *jsonReader) node(kind yaml.Kind, tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: kind, Tag: tag, Value: value}
	if r.placed {
		n.Line, n.Column = r.line, r.at-r.start+1
	}
	return n
}

func (r *jsonReader) value(token json.Token) *yaml.Node {
	switch t := token.(type) {
	case json.Delim:
		return r.collection(t)
	case json.Number:
		return r.node(yaml.ScalarNode, plainTag(string(t)), string(t))
	case bool:
		return r.node(yaml.ScalarNode, tagBool, strconv.FormatBool(t))
	case string:
		n := r.node(yaml.ScalarNode, tagStr, t)
		n.Style = yaml.DoubleQuotedStyle
		return n
	default:
		return r.node(yaml.ScalarNode, tagNull, "null")
	}
}

func (r *jsonReader) collection(open json.Delim) *yaml.Node {
	n := r.node(yaml.MappingNode, tagMap, "")
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, tagSeq
	}
	if r.placed {
		n.Style = yaml.FlowStyle
	}
	for {
		token, err := r.next()
		if err != nil || token == json.Delim('}') || token == json.Delim(']') {
			return n
		}
		n.Content = append(n.Content, r.value(token))
	}
}
