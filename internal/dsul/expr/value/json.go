package value

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// JSON writes a value as JSON.stringify does: what is undefined is left out of objects and null in lists, numbers that
// JSON has not are null, and so is what lies deeper than any value that can come in. With an indent every item has its
// line. Undefined itself writes nothing, and what is no value of the language is written as undefined. It is false when the text would be longer than the limit.
func JSON(v any, indent string, limit int) (string, bool) {
	w := writer{indent: indent, limit: limit}
	out := w.append(nil, v, 0)
	return string(out), len(out) <= limit
}

// AppendJSON appends what JSON writes without an indent. When that is longer than the limit it is false, and what is appended is of
// no use.
func AppendJSON(out []byte, v any, limit int) ([]byte, bool) {
	begin := len(out)
	out = writer{limit: begin + min(limit, math.MaxInt-begin)}.append(out, v, 0)
	return out, len(out)-begin <= limit
}

// deepest bounds every walk through a value: a stack must not grow with what users send.
const deepest = 1000

type writer struct {
	indent string
	limit  int
	pieces *pieces // nil when all of it is kept
}

func (w writer) append(out []byte, v any, depth int) []byte {
	if len(out) > w.limit || w.pieces != nil && w.pieces.enough {
		return out // too long already: nobody will read it
	}
	if depth > deepest {
		v = nil
	}
	switch v := v.(type) {
	case Undefined:
		return out
	case nil:
		return append(out, "null"...)
	case string:
		return appendQuoted(out, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(out, "null"...)
		}
		return AppendNumber(out, v)
	case []any:
		return w.list(out, v, depth)
	case *Object:
		return w.object(out, v, depth)
	case bool:
		return strconv.AppendBool(out, v)
	default: // what the platform alone understands, such as a stream: it is not there for anybody else
		return out
	}
}

func (w writer) list(out []byte, list []any, depth int) []byte {
	if len(list) == 0 {
		return append(out, "[]"...)
	}
	for i, item := range list {
		out = append(out, opener('[', i))
		out = w.line(out, depth+1)
		if absent(item) {
			item = nil
		}
		out = w.pass(w.append(out, item, depth+1))
	}
	return append(w.line(out, depth), ']')
}

func (w writer) object(out []byte, object *Object, depth int) []byte {
	written := 0
	for key, v := range object.All() {
		if absent(v) {
			continue
		}
		out = append(out, opener('{', written))
		out = w.line(out, depth+1)
		out = append(appendQuoted(out, key), ':')
		if w.indent != "" {
			out = append(out, ' ')
		}
		out = w.pass(w.append(out, v, depth+1))
		written++
	}
	if written == 0 {
		return append(out, "{}"...)
	}
	return append(w.line(out, depth), '}')
}

// absent says that a value writes nothing: undefined, and whatever is none of the values of the language.
func absent(v any) bool {
	switch v.(type) {
	case nil, bool, float64, string, []any, *Object:
		return false
	default:
		return true
	}
}

// opener is what stands before an item: the bracket before the first, a comma before the others.
func opener(bracket byte, written int) byte {
	if written == 0 {
		return bracket
	}
	return ','
}

func (w writer) line(out []byte, depth int) []byte {
	if w.indent == "" {
		return out
	}
	out = append(out, '\n')
	for range depth {
		out = append(out, w.indent...)
	}
	return out
}

// appendQuoted escapes what JSON must escape, and nothing else.
func appendQuoted(out []byte, text string) []byte {
	const digits = "0123456789abcdef"
	out = append(out, '"')
	plain := plainPrefix(text) // all of it, nearly always
	out = append(out, text[:plain]...)
	for _, r := range text[plain:] {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r)) //nolint:gosec // an ASCII character
		case r >= ' ':
			out = utf8.AppendRune(out, r)
		default:
			if short := shortEscape(r); short != 0 {
				out = append(out, '\\', short)
			} else {
				out = append(out, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
			}
		}
	}
	return append(out, '"')
}

// plainPrefix is how many bytes at the start of a text are written as they are, and are ASCII.
func plainPrefix(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return len(text)
}

func shortEscape(r rune) byte {
	switch r {
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}
