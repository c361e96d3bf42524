package expr

import (
	"strings"

	"atelier/internal/dsul/expr/internal/pattern"
)

const regexOpening = "regex("

// maxPatterns bounds the regular expressions of one expression together, as their Weight counts.
const maxPatterns = 4 * pattern.MaxSize

func (p *parser) seesRegex() bool {
	return len(p.rest()) >= len(regexOpening) && strings.EqualFold(p.rest()[:len(regexOpening)], regexOpening)
}

// lastRegex reads regex(...) behind matches. The pattern goes up to the last parenthesis of the expression, so that it
// may hold parentheses itself, and nothing may follow.
func (p *parser) lastRegex() (Node, error) {
	begin, first := p.at, p.at+len(regexOpening)
	end := strings.LastIndexByte(p.source, ')')
	if end < first {
		return nil, p.fail(begin, "regex( has no closing )")
	}
	if skipBlank(p.source, end+1) < len(p.source) || p.depth > 0 {
		return nil, p.fail(begin, "regex(...) must be the last thing in an expression, outside of any parentheses")
	}
	if open := 0; !balanced(p.source[first:end], &open) {
		return nil, p.fail(begin, `the pattern closes a parenthesis that it does not open: write \x29 for a single )`)
	}
	return p.regex(begin, first, end)
}

// balanced says that no parenthesis is closed before one is opened.
func balanced(raw string, open *int) bool {
	for i := range len(raw) {
		switch raw[i] {
		case '(':
			*open++
		case ')':
			if *open--; *open < 0 {
				return false
			}
		}
	}
	return true
}

// argumentRegex reads regex(...) as an argument. The pattern goes up to the parenthesis that closes it.
func (p *parser) argumentRegex() (Node, error) {
	begin, first := p.at, p.at+len(regexOpening)
	open, end := 1, first
	for ; end < len(p.source); end++ {
		switch p.source[end] {
		case '\\':
			end++
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			return p.regex(begin, first, end)
		}
	}
	return nil, p.fail(begin, "regex( has no closing )")
}

// regex reads the pattern between two places. Variables in it are its text when it runs.
func (p *parser) regex(begin, first, end int) (Node, error) {
	text := &Text{At: p.pos(first)}
	p.at = first
	for p.at < end {
		next := strings.Index(p.source[p.at:end], "{{")
		if next < 0 {
			next = end - p.at
		}
		if next > 0 {
			text.Parts = append(text.Parts, &Literal{At: p.pos(p.at), Value: p.source[p.at : p.at+next]})
			p.at += next
		}
		if p.at < end {
			variable, err := p.variable()
			if err != nil {
				return nil, err
			}
			text.Parts = append(text.Parts, variable)
		}
	}
	p.at, p.arithmetic = skipBlank(p.source, end+1), false
	if len(text.Parts) == 0 {
		return nil, p.fail(begin, "regex() needs a pattern")
	}
	if literal, ok := text.Parts[0].(*Literal); ok && len(text.Parts) == 1 {
		return p.compile(literal, true)
	}
	return &Regex{At: p.pos(begin), Source: text, Raw: true}, nil
}

// compile makes a regular expression of a text that is known already.
func (p *parser) compile(literal *Literal, raw bool) (*Regex, error) {
	source, _ := literal.Value.(string)
	compiled, err := compilePattern(source, raw)
	if err != nil {
		return nil, p.fail(literal.At-p.start, "%s", err)
	}
	if p.patterns += compiled.Weight(); p.patterns > maxPatterns {
		return nil, p.fail(literal.At-p.start, "the regular expressions of this expression are too large together")
	}
	return &Regex{At: literal.At, Source: literal, Raw: raw, Compiled: compiled}, nil
}

// compilePattern compiles what stood in regex(...), or a plain pattern.
func compilePattern(source string, raw bool) (*pattern.Pattern, error) {
	if raw {
		return pattern.Literal(source)
	}
	return pattern.Compile(source, "")
}
