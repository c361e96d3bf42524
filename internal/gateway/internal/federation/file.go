package federation

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a provider file while it is read. What is wrong with it is told by key, because a value may be a secret; so
// the texts of the YAML library, which quote what they read, are not shown either.
type document struct {
	lookup   func(string) string
	problems []string
}

// node is a value of the file and where it stands.
type node struct {
	doc  *document
	path string
	name string
	yaml *yaml.Node
}

func (n node) wrong(what string) {
	n.doc.problems = append(n.doc.problems, n.path+" "+what)
}

func (n node) child(name string) node {
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{doc: n.doc, path: path, name: name}
}

// root reads the one mapping of the file; an empty file has none.
func (d *document) root(content []byte) node {
	at := node{doc: d}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	switch {
	case errors.Is(err, io.EOF):
		return at
	case err != nil:
		d.problems = append(d.problems, "the file is not YAML")
		return at
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		d.problems = append(d.problems, "the file holds more than one YAML document; allowed: one")
		return at
	}
	if len(first.Content) > 0 {
		at.yaml = first.Content[0]
	}
	return at
}

// fields lists the values of a mapping.
func (n node) fields(allowed ...string) []node {
	if n.yaml == nil || n.yaml.ShortTag() == "!!null" {
		return nil
	}
	if n.yaml.Kind != yaml.MappingNode {
		if n.path == "" {
			n.path = "the file"
		}
		n.wrong("must be a mapping" + hint(allowed))
		return nil
	}
	var found []node
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key := n.yaml.Content[i]
		if key.Kind != yaml.ScalarNode || !keyPattern.MatchString(key.Value) {
			n.child("?").wrong("is not a key that can be used")
			continue
		}
		field := n.child(key.Value)
		field.yaml = n.yaml.Content[i+1]
		if seen[key.Value] {
			field.wrong("is given twice")
			continue
		}
		seen[key.Value] = true
		found = append(found, field)
	}
	return found
}

// keyPattern keeps what is shown of a broken file to words.
var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) //nolint:gochecknoglobals // compiled once, never changed

func hint(allowed []string) string {
	if len(allowed) == 0 {
		return ""
	}
	return "; allowed: " + strings.Join(allowed, ", ")
}

// read hands each value of a mapping to its reader.
func (n node) read(readers map[string]func(node)) {
	allowed := slices.Sorted(maps.Keys(readers))
	for _, field := range n.fields(allowed...) {
		if reader, known := readers[field.name]; known {
			reader(field)
		} else {
			field.wrong("is not known" + hint(allowed))
		}
	}
}

// words is a plain value, with its variables filled in.
func (n node) words() (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() == "!!null" || strings.HasPrefix(n.yaml.Tag, "!") && !strings.HasPrefix(n.yaml.Tag, "!!") {
		n.wrong("must be a text")
		return "", false
	}
	ok := true
	filled := variable.ReplaceAllStringFunc(n.yaml.Value, func(found string) string {
		name := variable.FindStringSubmatch(found)[1]
		value := n.doc.lookup(name)
		if value == "" {
			n.wrong("uses the environment variable " + name + ", which is not set")
			ok = false
		}
		return value
	})
	return strings.TrimRight(filled, "\r\n"), ok
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) //nolint:gochecknoglobals // compiled once, never changed

func text[T ~string](into *T) func(node) {
	return func(n node) {
		if words, ok := n.words(); ok {
			*into = T(words)
		}
	}
}

func truth(into *bool) func(node) {
	return func(n node) {
		switch words, ok := n.words(); {
		case !ok:
		case words == "true":
			*into = true
		case words == "false":
			*into = false
		default:
			n.wrong("must be true or false")
		}
	}
}

func list(into *[]string) func(node) {
	return func(n node) {
		if n.yaml.Kind != yaml.SequenceNode {
			n.wrong("must be a list of texts")
			return
		}
		items := make([]string, 0, len(n.yaml.Content))
		for _, item := range n.yaml.Content {
			n.yaml = item
			if words, ok := n.words(); ok {
				items = append(items, words)
			}
		}
		*into = items
	}
}

func texts(into *map[string]string) func(node) {
	return func(n node) {
		*into = map[string]string{}
		for _, field := range n.fields() {
			if words, ok := field.words(); ok {
				(*into)[field.name] = words
			}
		}
	}
}
