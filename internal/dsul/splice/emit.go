package splice

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// form is a value as it stands in a block: what follows the colon or the dash, and the lines below.
type form struct {
	head  string
	lines []string
	open  bool // the last line needs its line break, or the value is another one
}

// spot is where a form will stand.
type spot struct {
	in     yaml.Kind // the collection around it: a mapping, a sequence, or a document
	column int       // of that collection
	hint   yaml.Style
	old    string // the text of the scalar that it replaces
}

func (s style) form(v *value.Value, at spot) form {
	switch {
	case v.Collection() && !v.Empty():
		f := form{}
		if v.Tag != "" {
			f.head = tag(v.Tag)
		}
		f.lines, f.open = s.block(v, at.column+s.below(v, at.in))
		return f
	case v.Collection():
		return form{head: s.flow(v)}
	case s.asBlock(v, at.hint, at.old):
		more := min(max(s.step, 1), 9)
		return literal(v.Text, pad(max(at.column, 0)+more), more)
	default:
		return form{head: s.inline(v, false, at.hint)}
	}
}

// below is how far a collection is indented below the one around it.
func (s style) below(v *value.Value, in yaml.Kind) int {
	switch {
	case in == yaml.SequenceNode:
		return 2
	case in == yaml.DocumentNode:
		return 0
	case v.Kind == value.List:
		return s.dash
	default:
		return max(s.step, 1)
	}
}

func pad(columns int) string { return strings.Repeat(" ", columns) }

// block writes a collection that is not empty as lines at a column.
func (s style) block(v *value.Value, column int) (lines []string, open bool) {
	for _, item := range v.Items {
		var more []string
		more, open = s.item(item, column)
		lines = append(lines, more...)
	}
	for _, entry := range v.Entries {
		var more []string
		more, open = s.entry(entry, column)
		lines = append(lines, more...)
	}
	return lines, open
}

func (s style) item(v *value.Value, column int) (lines []string, open bool) {
	if lines, ok := s.lender.lines(yaml.SequenceNode, value.Entry{Value: v}, column); ok {
		return lines, true
	}
	f := s.form(v, spot{in: yaml.SequenceNode, column: column})
	dash := pad(column) + "- "
	if f.head == "" {
		f.lines[0] = dash + f.lines[0][column+2:]
		return f.lines, f.open
	}
	return append([]string{dash + f.head}, f.lines...), f.open
}

func (s style) entry(e value.Entry, column int) (lines []string, open bool) {
	if lines, ok := s.lender.lines(yaml.MappingNode, e, column); ok {
		return lines, true
	}
	f := s.form(e.Value, spot{in: yaml.MappingNode, column: column})
	key, simple := s.key(e, false)
	first := pad(column) + key + ":"
	if !simple {
		lines, first = []string{pad(column) + "? " + key}, pad(column)+":"
	}
	if f.head != "" {
		first += " " + f.head
	}
	return append(append(lines, first), f.lines...), f.open
}

// key writes a key on one line, and tells whether it may stand before its colon as it is.
func (s style) key(e value.Entry, inFlow bool) (key string, simple bool) {
	switch {
	case e.Key.Collection() || e.Key.Tag != "":
		return s.flow(e.Key), false
	case e.Key.Kind == value.String || e.Name == "" || s.json:
		key = s.quoted(e.Name, inFlow, 0)
	default:
		key = e.Name
	}
	return key, len(key) <= maxKey || s.json
}

// flow writes a value on one line.
func (s style) flow(v *value.Value) string {
	prefix := ""
	if v.Tag != "" && v.Collection() {
		prefix = tag(v.Tag) + " "
	}
	switch v.Kind {
	case value.List:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = s.flow(item)
		}
		return prefix + "[" + strings.Join(parts, s.comma()) + "]"
	case value.Map:
		parts := make([]string, len(v.Entries))
		for i, entry := range v.Entries {
			parts[i] = s.flowKey(entry) + s.flow(entry.Value)
		}
		return prefix + "{" + strings.Join(parts, s.comma()) + "}"
	default:
		return s.inline(v, true, 0)
	}
}

func (s style) comma() string {
	if s.tight {
		return ","
	}
	return ", "
}

// flowKey writes a key of a flow mapping with its colon.
func (s style) flowKey(e value.Entry) string {
	key, simple := s.key(e, true)
	switch {
	case !simple:
		return "? " + key + " : "
	case s.tight:
		return key + ":"
	default:
		return key + ": "
	}
}

// spreadFlow writes a value as JSON with one entry a line, if the text is so. prefix is the indentation of its line.
func (s style) spreadFlow(v *value.Value, prefix string) string {
	if !s.spread || !v.Collection() || v.Empty() {
		return s.flow(v)
	}
	opening, closing := "{", "}"
	parts := make([]string, 0, len(v.Items)+len(v.Entries))
	for _, item := range v.Items {
		opening, closing = "[", "]"
		parts = append(parts, s.spreadFlow(item, prefix+s.unit))
	}
	for _, entry := range v.Entries {
		parts = append(parts, s.flowKey(entry)+s.spreadFlow(entry.Value, prefix+s.unit))
	}
	between := s.nl + prefix + s.unit
	return opening + between + strings.Join(parts, ","+between) + s.nl + prefix + closing
}

// document writes a whole text.
func (s style) document(v *value.Value) string {
	if s.json {
		return s.spreadFlow(v, "") + s.nl
	}
	f := s.form(v, spot{in: yaml.DocumentNode, column: 0})
	if f.head != "" {
		f.lines = append([]string{f.head}, f.lines...)
	}
	return strings.Join(f.lines, s.nl) + s.nl
}
