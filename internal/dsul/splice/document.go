package splice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

const bom = "\uFEFF"

// document is a parsed text: what it means, and where everything in it stands.
type document struct {
	*text
	value *value.Value
	root  *node // nil for a text without a document
	style style

	scalars []stretch // where nothing is a comment, nil before somebody asks
}

// parse reads a text of one document and what it means. The root is nil when there is no document.
func parse(raw []byte) (root *yaml.Node, v *value.Value, err error) {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return nil, nil, errors.New("the text is not valid UTF-8, or holds a zero byte")
	}
	if isJSON(raw) {
		root = readJSON(raw)
	} else if root, err = readYAML(raw); err != nil {
		return nil, nil, fmt.Errorf("read the text: %w", err)
	}
	if v, err = value.Of(root); err != nil {
		return nil, nil, fmt.Errorf("read the text: %w", err)
	}
	return root, v, nil
}

func readYAML(raw []byte) (root *yaml.Node, err error) {
	// The library panics on a few broken texts where it means to return an error.
	defer func() {
		if recover() != nil {
			root, err = nil, errors.New("the text is not YAML")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // a text without a document
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document")
	}
	retag(document.Content[0])
	return document.Content[0], nil
}

// retag takes from plain scalars the type that the library gives them: it takes numbers that it cannot hold for strings.
func retag(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Tag == "!!str" && n.Value != "" {
		if kind, _ := value.Plain(n.Value); kind == value.Number {
			n.Tag = "!!float"
		}
	}
	for _, child := range n.Content {
		retag(child)
	}
}

// open parses a text and finds the places of its nodes. A text whose places are not found is still a document, without a
// root: it can only be written anew as a whole.
func open(raw []byte) (d *document, found bool, err error) {
	root, v, err := parse(raw)
	if err != nil {
		return nil, false, err
	}
	d = &document{text: newText(raw), value: v}
	if root != nil {
		l := &layout{text: d.text}
		from := l.prologue()
		d.root = l.node(root, nil, place{from: from, indent: -1})
		l.epilogue(d.root.end)
		if l.lost {
			d.root = nil
			d.style = d.findStyle()
			return d, false, nil
		}
	}
	d.style = d.findStyle()
	return d, true, nil
}

// prologue is where the root may begin: behind a byte order mark, directives and the marker of the document.
func (l *layout) prologue() int {
	at := 0
	if bytes.HasPrefix(l.raw, []byte(bom)) {
		at = len(bom)
	}
	for {
		next := l.trivia(at)
		switch {
		case l.at(next) == '%' && l.column(next) == 0:
			at = l.lineEnd(next)
		case l.marker(next, "---"):
			return next + len("---")
		default:
			return at
		}
	}
}

// epilogue checks that nothing but comments and markers of the end follows the root.
func (l *layout) epilogue(at int) {
	at = l.trivia(at)
	for l.marker(at, "...") {
		at = l.trivia(at + len("..."))
	}
	if at != len(l.raw) {
		l.lost = true
	}
}

// marker tells whether a line begins with a marker of documents.
func (t *text) marker(at int, marker string) bool {
	return at < len(t.raw) && t.column(at) == 0 && bytes.HasPrefix(t.raw[at:], []byte(marker)) && t.blankAt(at+len(marker))
}
