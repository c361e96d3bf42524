package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// parser reads one expression from left to right and never goes back over what it has read.
type parser struct {
	source string
	at     int
	start  int // where source starts in the template that holds it
	depth  int
	// arithmetic says whether what was read last may be calculated with.
	arithmetic bool
	// patterns is the size of the regular expressions read so far.
	patterns int
}

func (p *parser) fail(at int, format string, values ...any) error {
	return &SyntaxError{Source: p.source, Offset: at, Start: p.start, Message: fmt.Sprintf(format, values...)}
}

// pos is a place in the text that was given, which may be more than the expression.
func (p *parser) pos(at int) int { return p.start + at }

// enter goes one level deeper. Every enter has its leave, but after an error nothing matters any more.
func (p *parser) enter() error {
	if p.depth == MaxDepth {
		return p.fail(p.at, "an expression may be nested %d levels deep at most", MaxDepth)
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) rest() string { return p.source[p.at:] }

func (p *parser) sees(prefix string) bool { return strings.HasPrefix(p.rest(), prefix) }

// blank skips spaces and tabs.
func (p *parser) blank() { p.at = skipBlank(p.source, p.at) }

func skipBlank(source string, at int) int {
	for at < len(source) && isBlank(source[at]) {
		at++
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// wordAt returns the letters, digits and _ that stand at a place.
func wordAt(source string, at int) string {
	end := at
	for end < len(source) && isWord(source[end]) {
		end++
	}
	return source[at:end]
}

// operator looks at the operator that follows, with the spaces it needs, and says where its right side starts. It moves
// nothing; without an operator it returns 0.
func (p *parser) operator() (op Operator, end int) {
	begin := skipBlank(p.source, p.at)
	if begin == p.at {
		return 0, 0
	}
	op, end = operatorAt(p.source, begin)
	if op == exists || op == notExists {
		return op, end
	}
	if right := skipBlank(p.source, end); op != 0 && right > end {
		return op, right
	}
	return 0, 0
}

// operatorAt reads an operator that needs spaces, whether it has them or not.
func operatorAt(source string, at int) (op Operator, end int) {
	if word := wordAt(source, at); word != "" {
		end = at + len(word)
		lower := strings.ToLower(word)
		if lower == "not" {
			next := skipBlank(source, end)
			second := wordAt(source, next)
			lower, end = "not "+strings.ToLower(second), next+len(second)
		}
		return wordOperator(lower), end
	}
	end = at
	for end < len(source) && strings.IndexByte("=!<>&|", source[end]) >= 0 {
		end++
	}
	return signOperator(source[at:end]), end
}

// arithmeticSign looks at the sign of arithmetic that follows, if it is of a level, and says where its right side starts.
func (p *parser) arithmeticSign(level Level) (op Operator, end int) {
	at := skipBlank(p.source, p.at)
	if at == len(p.source) || strings.HasPrefix(p.source[at:], "%}") {
		return 0, 0
	}
	if op = arithmeticOperator(p.source[at]); op == 0 || op.Level() != level {
		return 0, 0
	}
	return op, at + 1
}

// found names what stands at a place, for messages.
func (p *parser) found(at int) string {
	if at >= len(p.source) {
		return "the end"
	}
	if word := wordAt(p.source, at); word != "" {
		return fmt.Sprintf("%q", shorten(word))
	}
	switch r, size := utf8.DecodeRuneInString(p.source[at:]); {
	case r == '\n' || r == '\r':
		return "a line break"
	case r == utf8.RuneError && size == 1:
		return "a byte that is no character"
	default:
		return fmt.Sprintf("%q", string(r))
	}
}
