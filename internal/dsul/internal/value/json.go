package value

import (
	"strings"
	"unicode/utf8"
)

// AppendJSON appends the value as JSON on one line. Keys keep their order, numbers their digits, and nothing is escaped
// that need not be. A scalar with a tag of its own is a string.
func (v *Value) AppendJSON(b []byte) []byte {
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool, Number:
		return append(b, v.Text...)
	case List:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		for i, entry := range v.Entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendQuoted(b, strings.TrimPrefix(entry.Name, "\x00")), ':')
			b = entry.Value.AppendJSON(b)
		}
		return append(b, '}')
	default:
		return AppendQuoted(b, v.Text)
	}
}

const hex = "0123456789abcdef"

// AppendQuoted appends a string in double quotes, in a spelling that JSON and YAML both read as the same characters.
func AppendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = utf8.AppendRune(append(b, '\\'), r)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case Printable(r):
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return append(b, '"')
}

// Printable tells whether a character may stand in a YAML text as it is, within a line.
func Printable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7F && r < 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
		return false
	}
	return true
}
