package expr

import (
	"fmt"
	"strings"
)

// Limits of what is read.
const (
	MaxSource  = 16 << 10 // bytes of one expression
	MaxDepth   = 100      // levels of nesting
	MaxPattern = 1 << 10  // bytes of one regular expression
)

// Parse reads an expression: what stands between {% and %}, or the key of a condition. Its errors are *SyntaxError.
func Parse(source string) (Node, error) {
	return parseAt(source, 0)
}

// parseAt reads an expression that starts somewhere in a template.
func parseAt(source string, start int) (Node, error) {
	p := &parser{source: source, start: start}
	if len(source) > MaxSource {
		return nil, p.fail(0, "an expression has at most %d bytes", MaxSource)
	}
	if strings.Trim(source, " \t") == "" {
		return nil, p.fail(0, "the expression is empty: write a value, a variable such as {{name}}, or a comparison")
	}
	node, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.blank()
	if p.at < len(source) {
		return nil, p.unexpected()
	}
	return node, nil
}

// expression reads operands with and, or between them. Both have the same precedence and associate to the right.
func (p *parser) expression() (Node, error) {
	return p.chain(Logic, p.equality)
}

// chain reads a row of operands whose operators are of one level.
func (p *parser) chain(level Level, operand func() (Node, error)) (Node, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	row := row{first: first}
	for {
		op, end := p.operator()
		if op == 0 || op.Level() != level {
			return p.finish(row), nil
		}
		p.at = end
		next, err := operand()
		if err != nil {
			return nil, err
		}
		row.add(op, next)
	}
}

// row collects operands; it is a Chain only when there are several.
type row struct {
	first Node
	chain *Chain
}

func (r *row) add(op Operator, next Node) {
	if r.chain == nil {
		r.chain = &Chain{At: r.first.Pos(), Operands: []Node{r.first}}
	}
	r.chain.Operands, r.chain.Operators = append(r.chain.Operands, next), append(r.chain.Operators, op)
}

// last is the operand that was added last.
func (r *row) last() *Node {
	if r.chain == nil {
		return &r.first
	}
	return &r.chain.Operands[len(r.chain.Operands)-1]
}

func (r *row) node() Node {
	if r.chain == nil {
		return r.first
	}
	return r.chain
}

// finish makes a node of a row of comparisons, which cannot be calculated with.
func (p *parser) finish(row row) Node {
	if row.chain != nil {
		p.arithmetic = false
	}
	return row.node()
}

// equality reads comparisons such as = and in. They associate to the right. exists and regex(...) end them.
func (p *parser) equality() (Node, error) {
	first, err := p.relation()
	if err != nil {
		return nil, err
	}
	row := row{first: first}
	for {
		op, end := p.operator()
		if op == 0 || op.Level() != Equality {
			return p.precompile(row)
		}
		p.at = end
		if op == exists || op == notExists {
			last := row.last()
			*last = &Exists{At: (*last).Pos(), X: *last, Negated: op == notExists}
			p.arithmetic = false
			return p.finish(row), nil
		}
		read, ends := p.relation, false
		if (op == Matches || op == NotMatches) && p.seesRegex() {
			read, ends = p.lastRegex, true
		}
		next, err := read()
		if err != nil {
			return nil, err
		}
		if row.add(op, next); ends {
			return p.finish(row), nil
		}
	}
}

// precompile makes a text that stands last, behind matches, the regular expression it is.
func (p *parser) precompile(row row) (Node, error) {
	if row.chain == nil {
		return row.first, nil
	}
	literal, ok := (*row.last()).(*Literal)
	if op := row.chain.Operators[len(row.chain.Operators)-1]; !ok || op != Matches && op != NotMatches {
		return p.finish(row), nil
	}
	if _, ok := literal.Value.(string); !ok {
		return p.finish(row), nil
	}
	regex, err := p.compile(literal, false)
	*row.last() = regex
	return p.finish(row), err
}

func (p *parser) relation() (Node, error) {
	return p.chain(Relation, p.unary)
}

// unary reads a negation, or a value that may be calculated.
func (p *parser) unary() (Node, error) {
	p.blank()
	begin := p.at
	if !p.negation() {
		return p.sum()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.unary()
	p.arithmetic = false
	return &Not{At: p.pos(begin), X: x}, err
}

// negation skips ! or the word not in front of a value.
func (p *parser) negation() bool {
	if p.sees("!") {
		p.at++
		return true
	}
	word := wordAt(p.source, p.at)
	if !strings.EqualFold(word, "not") {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) sum() (Node, error) {
	return p.calculation(Sum, func() (Node, error) { return p.calculation(Product, p.operand) })
}

// calculation reads a row of operands with signs of arithmetic between them.
func (p *parser) calculation(level Level, operand func() (Node, error)) (Node, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	row := row{first: first}
	for {
		op, end := p.arithmeticSign(level)
		if op == 0 {
			return row.node(), nil
		}
		if !p.arithmetic {
			return nil, p.notArithmetic(end - 1)
		}
		p.at = skipBlank(p.source, end)
		begin := p.at
		next, err := operand()
		if err != nil {
			return nil, err
		}
		if !p.arithmetic {
			return nil, p.notArithmetic(begin)
		}
		row.add(op, next)
	}
}

func (p *parser) notArithmetic(at int) error {
	return p.fail(at, "only numbers, variables, functions and parentheses around them can be calculated with: "+
		"put texts into variables to join them")
}

// unexpected explains what stands where an expression could end.
func (p *parser) unexpected() error {
	if op, end := operatorAt(p.source, p.at); op != 0 {
		return p.fail(p.at, "%s needs a space on both sides", strings.TrimSpace(p.source[p.at:end]))
	}
	hint := "and, or, a comparison or the end"
	switch c := p.source[p.at]; {
	case c == '\n' || c == '\r':
		hint = "an expression on one line"
	case c == '(' && p.at > 0 && isBlank(p.source[p.at-1]):
		hint = "no space between the name of a function and its ("
	case isWord(c), c == '"', c == '\'':
		hint = `and, or, or a comparison between two values; a text of several words stands in quotes`
	}
	return p.fail(p.at, "found %s where this was expected: %s", p.found(p.at), hint)
}

// expected says what is missing.
func (p *parser) expected(what string) error {
	return p.fail(p.at, "%s", fmt.Sprintf("expected %s, found %s", what, p.found(p.at)))
}
