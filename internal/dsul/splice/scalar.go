package splice

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/internal/value"
)

// The limits of a line: longer strings become blocks when they need quotes, longer keys are written with a question mark.
const (
	maxLine = 120
	maxKey  = 1000
)

// inline writes a scalar on one line. hint is the style of the scalar it replaces, zero for none.
func (s style) inline(v *value.Value, inFlow bool, hint yaml.Style) string {
	if v.Tag != "" {
		return tag(v.Tag) + " " + doubleQuoted(v.Text)
	}
	switch v.Kind {
	case value.Null:
		return "null"
	case value.Bool, value.Number:
		return v.Text
	default:
		return s.quoted(v.Text, inFlow, hint)
	}
}

func (s style) quoted(text string, inFlow bool, hint yaml.Style) string {
	canSingle := printable(text, "") && text != ""
	switch {
	case s.json:
		return doubleQuoted(text)
	case hint&yaml.SingleQuotedStyle != 0 && canSingle:
		return singleQuoted(text)
	case hint&yaml.DoubleQuotedStyle != 0:
		return doubleQuoted(text)
	case plain(text, inFlow):
		return text
	case canSingle && (s.single || strings.ContainsAny(text, `"\`) && !strings.Contains(text, "'")):
		return singleQuoted(text)
	default:
		return doubleQuoted(text)
	}
}

func doubleQuoted(text string) string { return string(value.AppendQuoted(nil, text)) }

func singleQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func printable(text, also string) bool {
	for _, r := range text {
		if !value.Printable(r) && !strings.ContainsRune(also, r) {
			return false
		}
	}
	return true
}

// plain tells whether a string means itself without quotes, to this parser and to those that still know YAML 1.1.
func plain(text string, inFlow bool) bool {
	if text == "" || len(text) > maxKey && inFlow || !printable(text, "") || strings.TrimSpace(text) != text {
		return false
	}
	first, width := utf8.DecodeRuneInString(text)
	if strings.ContainsRune("-?:,[]{}#&*!|>'\"%@`=<~", first) &&
		(first != '-' || len(text) == width || !letter(text[width])) {
		return false
	}
	if strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.HasSuffix(text, ":") || strings.HasPrefix(text, "...") {
		return false
	}
	if inFlow && strings.ContainsAny(text, ",[]{}?:") {
		return false
	}
	return resolvesToString(text)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// resolvesToString tells whether no reader of plain scalars sees anything but a string.
func resolvesToString(text string) bool {
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off", "true", "false", "null", ".inf", "+.inf", "-.inf", ".nan":
		return false
	}
	if strings.IndexByte("+-.0123456789", text[0]) >= 0 && strings.Trim(text, "+-0123456789_.:eExXoObBaAcCdDfF") == "" {
		return false // looks like a number, a time or a version
	}
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() == "!!str"
}

// tag writes a tag.
func tag(name string) string {
	short, handle := strings.TrimPrefix(name, "!!"), "!!"
	if short == name {
		short, handle = strings.TrimPrefix(name, "!"), "!"
	}
	if short != name && short != "" && strings.Trim(strings.ToLower(short), "abcdefghijklmnopqrstuvwxyz0123456789-_./") == "" {
		return handle + short
	}
	if handle == "!!" {
		name = "tag:yaml.org,2002:" + short
	}
	var escaped strings.Builder
	for i := range len(name) {
		if c := name[i]; letter(c) || c >= '0' && c <= '9' || strings.IndexByte("-_./:,!", c) >= 0 {
			escaped.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			escaped.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return "!<" + escaped.String() + ">"
}

// asBlock tells whether a string is written as a block of lines: one with several lines, or a long one that needs quotes.
func (s style) asBlock(v *value.Value, hint yaml.Style, old string) bool {
	if v.Kind != value.String || v.Tag != "" || s.json || !blockable(v.Text) {
		return false
	}
	if strings.Contains(v.Text, "\n") {
		return hint&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 || !strings.Contains(old, "\n")
	}
	return hint&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		hint&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && len(v.Text) > maxLine && !plain(v.Text, false)
}

// blockable tells whether a string can be written as a block: it is not blank, has no characters that must be escaped, and
// ends with one line break at most. More would take empty lines that follow for their own.
func blockable(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.HasSuffix(text, "\n\n") && printable(text, "\n\t")
}

// literal writes a string as a block of lines, indented by pad, of which more is how far beyond what is around it.
func literal(text, pad string, more int) form {
	head := "|"
	first := strings.TrimLeft(text, "\n")
	if first[0] == ' ' || first[0] == '\t' {
		head += strconv.Itoa(more)
	}
	content, ended := strings.CutSuffix(text, "\n")
	if !ended {
		head += "-"
	}
	f := form{head: head, open: ended}
	for line := range strings.SplitSeq(content, "\n") {
		if line != "" {
			line = pad + line
		}
		f.lines = append(f.lines, line)
	}
	return f
}
