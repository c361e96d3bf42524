package config

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	configVariable = "ATELIER_CONFIG"
	configFlag     = "config"
)

// configPath finds the path of the configuration file; its text is empty when there is none.
func (l *loader) configPath() entry {
	if text := l.src.Flags[configFlag]; text != "" {
		return entry{name: configVariable, text: text, where: "flag --" + configFlag}
	}
	return entry{name: configVariable, text: l.variables()[configVariable], where: "environment " + configVariable}
}

// fromFile reads the configuration file. It is strict: what it holds was written for us and for nobody else.
func (l *loader) fromFile(path entry) layer {
	if path.text == "" {
		return layer{}
	}
	content, err := l.src.ReadFile(path.text)
	if err != nil {
		l.problems.add(configVariable, unreadable(path.text, err), path.where)
		return layer{}
	}
	root, problem := parseFile(content)
	if problem != "" {
		l.problems.add(configVariable, quote(path.text)+" "+problem, path.where)
		return layer{}
	}
	return l.fromMapping(root, "file "+oneLine(path.text))
}

// parseFile reads the one mapping of a YAML file; an empty file has none.
func parseFile(content []byte) (root *yaml.Node, problem string) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{}, ""
	}
	if err != nil {
		return nil, "is not YAML: " + syntaxProblem(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, "holds more than one YAML document; allowed: one"
	}
	if len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null" {
		return &yaml.Node{}, ""
	}
	root = document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, "is not a list of settings; allowed: lines of NAME: value"
	}
	return root, ""
}

// syntaxProblem hides the texts that quote the file: a password that begins with * reads as a YAML anchor.
func syntaxProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(text, "anchor") || strings.Contains(text, "`") {
		return "a value that begins with * must be quoted"
	}
	return oneLine(text)
}

// fromMapping reads the settings of the file; a mapping node lists its keys and values in turn.
func (l *loader) fromMapping(root *yaml.Node, origin string) layer {
	given := layer{}
	accepted := l.table.accepted()
	lines := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		name, where := oneLine(key.Value), origin+" line "+strconv.Itoa(key.Line)
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(accepted, key.Value):
			l.problems.add(name, "not a setting"+l.instead(key.Value, accepted), where)
		case lines[key.Value] != 0:
			l.problems.add(name, "set twice, first on line "+strconv.Itoa(lines[key.Value]), where)
		default:
			lines[key.Value] = key.Line
			l.take(given, value, entry{name: name, origin: origin, where: where})
		}
	}
	return given
}

// instead says what to write in the place of an unknown key.
func (l *loader) instead(key string, accepted []string) string {
	if key == configVariable {
		return " of the file; allowed: in the environment, or flag --" + configFlag
	}
	base, isFile := strings.CutSuffix(key, fileSuffix)
	if _, known := l.table.byName(base); isFile && known {
		return "; only secrets come from files: set " + base
	}
	return didYouMean(key, accepted)
}

// take adds the value of one key to the layer.
func (l *loader) take(given layer, value *yaml.Node, e entry) {
	s, found := l.table.byName(e.name)
	if !found { // the NAME_FILE of a secret: its value is a path
		secret, _ := l.table.byName(strings.TrimSuffix(e.name, fileSuffix))
		s = setting{name: secret.name, kind: kindText}
	}
	text, ok := scalarText(value)
	if !ok && s.kind == kindList && value.Kind == yaml.SequenceNode {
		text, ok = listText(value)
	}
	if !ok {
		l.failed[s.name] = true
		l.problems.add(e.name, "is "+shapeName(value)+"; allowed: "+s.allowed(), e.where)
		return
	}
	e.text = text
	given.put(e)
}

// scalarText takes a value as it was written, so that 0123 and yes mean what they mean in the environment.
func scalarText(value *yaml.Node) (string, bool) {
	if value.Kind != yaml.ScalarNode {
		return "", false
	}
	switch value.ShortTag() {
	case "!!null":
		return "", true
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return strings.TrimRight(value.Value, "\r\n"), true // a block scalar ends with a newline
	default:
		return "", false
	}
}

func listText(list *yaml.Node) (string, bool) {
	items := make([]string, 0, len(list.Content))
	for _, item := range list.Content {
		text, ok := scalarText(item)
		if !ok {
			return "", false
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), true
}

func shapeName(value *yaml.Node) string {
	switch value.Kind {
	case yaml.MappingNode:
		return "a nested mapping"
	case yaml.SequenceNode:
		return "a YAML list, or one with more than plain values"
	case yaml.AliasNode:
		return "a YAML alias (quote a value that begins with *)"
	case yaml.ScalarNode:
		return "a tagged value (quote a value that begins with !)"
	case yaml.DocumentNode:
	}
	return "not a value"
}
