package dsul

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/strictjson"
)

// What one document may ask of us.
const (
	maxText  = 1 << 20 // bytes of a text
	maxNodes = 100_000 // values, after every alias is replaced by what it stands for
	maxBytes = 8 << 20 // bytes of all scalars, after the same
	maxDepth = 100     // how deep maps and lists nest
)

// Document is a parsed text. The text is kept byte for byte.
type Document struct {
	Kind Kind
	Slug string
	Text []byte
	// Root is the mapping of the document; nil when the text cannot be read. Its scalars are tagged by Tag.
	Root *yaml.Node
}

// Path is where the document stands in its workspace.
func (d *Document) Path() string { return Path(d.Kind, d.Slug) }

// Parse reads a text, YAML or JSON. It takes time and memory in proportion to the text, however hostile. Every problem it
// finds is an error, and leaves the document without a root.
func Parse(kind Kind, slug string, text []byte) (*Document, Problems) {
	d := &Document{Kind: kind, Slug: slug, Text: text}
	root, problems := read(text)
	if len(problems) == 0 {
		d.Root = root
		return d, nil
	}
	return d, d.failed(problems)
}

// failed completes the problems of a document that cannot be read.
func (d *Document) failed(problems Problems) Problems {
	for i := range problems {
		problems[i].Document = d.Path()
		problems[i].Severity = SeverityError
	}
	return problems
}

func read(text []byte) (*yaml.Node, Problems) {
	if len(text) > maxText {
		return nil, Problems{{Code: "too_large", Message: fmt.Sprintf("the text is larger than %d bytes", maxText)}}
	}
	if problem := badCharacter(text); problem != nil {
		return nil, Problems{*problem}
	}
	root, problem := load(text)
	if problem != nil {
		return nil, Problems{*problem}
	}
	if root == nil || root.Kind != yaml.MappingNode {
		message := "the document must be a map of keys and values"
		if root == nil || root.Kind == yaml.ScalarNode && root.Value == "" {
			return nil, Problems{{Line: 1, Column: 1, Code: "empty", Message: "the document is empty; it must be a map of keys and values"}}
		}
		return nil, Problems{{Line: root.Line, Column: root.Column, Code: "wrong_type", Message: message}}
	}
	return root, survey(root)
}

// load makes nodes of a text. JSON is read as JSON: YAML would refuse some of it, such as escaped surrogate pairs.
func load(text []byte) (*yaml.Node, *Problem) {
	bare := bytes.TrimPrefix(text, []byte("\uFEFF"))
	if begun := bytes.TrimLeft(bare, " \t\r\n"); len(begun) > 0 && begun[0] == '{' {
		if strictjson.Check(bare, jsonLimits()) == nil {
			return jsonNodes(bare, true), nil
		}
	}
	return loadYAML(text)
}

func loadYAML(text []byte) (root *yaml.Node, problem *Problem) {
	// The library panics on a few broken texts where it means to return an error.
	defer func() {
		if recover() != nil {
			root, problem = nil, &Problem{Code: "bad_yaml", Message: "the text cannot be read as YAML"}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty text has no root, and the caller says so
	case err != nil:
		return nil, syntaxProblem(text, err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, &Problem{
			Line: next.Line, Column: next.Column, Code: "several_documents",
			Message: "a second document begins here (after ---); a text holds one",
		}
	case !errors.Is(err, io.EOF):
		return nil, syntaxProblem(text, err)
	}
	if len(document.Content) != 1 {
		return nil, nil
	}
	return document.Content[0], nil
}

// badCharacter finds what no text may hold: broken UTF-8, and control characters other than tabs and line ends.
func badCharacter(text []byte) *Problem {
	line, start := 1, 0
	for i := 0; i < len(text); {
		c := text[i]
		if c == '\n' {
			line, start = line+1, i+1
		}
		if c >= ' ' && c < 0x7F || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if message := refused(r, size); message != "" {
			return &Problem{Line: line, Column: utf8.RuneCount(text[start:i]) + 1, Code: "bad_character", Message: message}
		}
		i += size
	}
	return nil
}

func refused(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size <= 1:
		return "the text is not valid UTF-8 here"
	case r == 0:
		return "the zero character is not allowed"
	case !printable(r):
		return fmt.Sprintf("the control character U+%04X is not allowed; write it as an escape in double quotes", r)
	}
	return ""
}

// printable tells whether a character may stand in a YAML text as it is.
func printable(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r < 0x7F, r == 0x85:
		return true
	case r < 0xA0:
		return false
	default:
		return r != 0xFFFE && r != 0xFFFF
	}
}
