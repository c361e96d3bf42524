package value

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// parser reads JSON. It knows only what is right, and leaves everything else to who can say what is wrong with it.
type parser struct {
	text string
	at   int
}

// kept is how long a text may be of which single texts keep all in memory: beyond it they are copied.
const kept = 4 << 10

// space passes over white space, and gives the byte that follows; 0 at the end.
func (p *parser) space() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value reads the next value; false when it is not well-formed, or nested too deep.
func (p *parser) value(depth int) (any, bool) {
	switch c := p.space(); c {
	case '"':
		return p.quoted()
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *parser) word(word string) bool {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

// next passes over a byte when it is the next one that is no white space.
func (p *parser) next(c byte) bool {
	if p.space() != c || p.at == len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) list(depth int) (any, bool) {
	if p.at++; depth == MaxDepth {
		return nil, false
	}
	list := []any{}
	if p.next(']') {
		return list, true
	}
	for {
		item, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, item)
		if !p.next(',') {
			return list, p.next(']')
		}
	}
}

func (p *parser) object(depth int) (any, bool) {
	if p.at++; depth == MaxDepth {
		return nil, false
	}
	object := NewObject(0)
	if p.next('}') {
		return object, true
	}
	for {
		if p.space() != '"' {
			return nil, false
		}
		key, ok := p.string()
		if !ok || !p.next(':') {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		object.Set(key, v)
		if !p.next(',') {
			return object, p.next('}')
		}
	}
}

func (p *parser) quoted() (any, bool) {
	text, ok := p.string()
	return text, ok
}

// string reads the text that begins at the quote where the parser is.
func (p *parser) string() (string, bool) {
	begin, escaped, wide := p.at+1, false, false
	for i := begin; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			return p.unquoted(begin, i, escaped || wide && !utf8.ValidString(p.text[begin:i]))
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	return "", false
}

// unquoted gives the text between two quotes: as it is, or as the standard library reads what is written otherwise.
func (p *parser) unquoted(begin, end int, otherwise bool) (text string, ok bool) {
	if otherwise {
		err := json.Unmarshal([]byte(p.text[begin-1:end+1]), &text)
		return text, err == nil
	}
	if len(p.text) > kept {
		return strings.Clone(p.text[begin:end]), true
	}
	return p.text[begin:end], true
}

// number reads a number. JSON has none that begin with a dot, a plus or a zero before other digits.
func (p *parser) number() (any, bool) {
	rest := strings.TrimPrefix(p.text[p.at:], "-")
	whole := digits(rest)
	if whole == 0 {
		return nil, false
	}
	if rest[0] == '0' {
		whole = 1
	}
	if tail := rest[whole:]; tail != "" && tail[0] == '.' {
		fraction := digits(tail[1:])
		if fraction == 0 {
			return nil, false
		}
		whole += 1 + fraction
	}
	if tail := rest[whole:]; tail != "" && tail[0]|0x20 == 'e' {
		sign := 1
		if len(tail) > 1 && (tail[1] == '+' || tail[1] == '-') {
			sign = 2
		}
		exponent := digits(tail[sign:])
		if exponent == 0 {
			return nil, false
		}
		whole += sign + exponent
	}
	end := len(p.text) - len(rest) + whole
	n := parseDecimal(p.text[p.at:end])
	p.at = end
	return n, true
}
