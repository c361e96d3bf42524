package expr

import (
	"strconv"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// operand reads a value without any operator around it.
func (p *parser) operand() (Node, error) {
	if p.at == len(p.source) {
		return nil, p.expected("a value")
	}
	switch c := p.source[p.at]; {
	case p.sees("{{"):
		p.arithmetic = true
		return p.variable()
	case p.sees("{%"):
		node, err := p.group("{%", "%}")
		p.arithmetic = false
		return node, err
	case c == '(':
		return p.group("(", ")")
	case c == '"' || c == '\'':
		return p.quoted()
	case isWord(c), c == '-' && p.at+1 < len(p.source) && isDigit(p.source[p.at+1]):
		return p.word()
	case c == '[', c == '{':
		return nil, p.fail(p.at, "lists and objects cannot be written in an expression: put them into a variable")
	default:
		return nil, p.expected(`a value: a number, a text in quotes, a variable such as {{name}}, a function or (`)
	}
}

// group reads an expression between two marks.
func (p *parser) group(opening, closing string) (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	p.at += len(opening)
	node, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.leave()
	p.blank()
	if !p.sees(closing) {
		return nil, p.unclosed(closing)
	}
	p.at += len(closing)
	return node, nil
}

func (p *parser) unclosed(closing string) error {
	if p.at == len(p.source) {
		return p.expected(closing)
	}
	return p.unexpected()
}

// quoted reads a text. It has no escapes and cannot hold its own quote.
func (p *parser) quoted() (Node, error) {
	begin := p.at
	end := strings.IndexByte(p.source[begin+1:], p.source[begin])
	if end < 0 {
		return nil, p.fail(begin, "the text has no closing %c", p.source[begin])
	}
	p.at = begin + end + 2 // both quotes
	p.arithmetic = false
	return &Literal{At: p.pos(begin), Value: p.source[begin+1 : p.at-1]}, nil
}

// word reads a number, a keyword, a call, or a text of one word that needs no quotes.
func (p *parser) word() (Node, error) {
	begin, word := p.at, wordAt(p.source, p.at)
	if length := numberLength(p.rest()); length > 0 && length >= len(word) {
		number, _ := strconv.ParseFloat(p.source[begin:begin+length], 64) // too large is infinite
		p.at, p.arithmetic = begin+length, true
		return &Literal{At: p.pos(begin), Value: number}, nil
	}
	if strings.HasPrefix(p.source[begin+len(word):], "(") {
		return p.call(word)
	}
	p.at, p.arithmetic = begin+len(word), false
	lower := strings.ToLower(word)
	if lower == "not" || wordOperator(lower) != 0 {
		p.at = begin
		return nil, p.fail(begin, "%s is an operator: a value must stand before it; put it into quotes if it is a text", word)
	}
	return &Literal{At: p.pos(begin), Value: constant(word, lower)}, nil
}

func constant(word, lower string) any {
	switch lower {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case "undefined":
		return value.Undefined{}
	default:
		return word
	}
}

// numberLength is how many bytes of a text are a number as JSON writes it: -1, 1.5, 1e3, but neither 01 nor .5.
func numberLength(text string) int {
	unsigned := strings.TrimPrefix(text, "-")
	if unsigned == "" || !isDigit(unsigned[0]) {
		return 0
	}
	length := value.DecimalPrefix(unsigned)
	if unsigned[0] == '0' && length > 1 && isDigit(unsigned[1]) {
		length = 1
	}
	if dot := strings.IndexByte(unsigned[:length], '.'); dot >= 0 && (dot+1 == length || !isDigit(unsigned[dot+1])) {
		length = dot // no digit behind the point
	}
	return len(text) - len(unsigned) + length
}
