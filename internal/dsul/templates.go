package dsul

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/expr"
)

// Inside an automation every text may hold {{variables}} and {% expressions %}. The rules here are those of the values of
// instructions: what they say, or a template that will say it.

func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// dynamic tells whether a value is only known when the automation runs.
func dynamic(n *yaml.Node) bool { return isText(n) && isTemplate(n.Value) }

// value is the rule of anything that an automation computes with: every text in it is a template.
func value(c *checker, at *where, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for _, e := range entries(n) {
			value(c, at.at(e.key), e.value)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			value(c, at.item(i), through(item))
		}
	default:
		c.template(at, n)
	}
}

// template checks the expressions in a text.
func (c *checker) template(at *where, n *yaml.Node) {
	if !dynamic(n) {
		return
	}
	if _, err := expr.ParseTemplate(n.Value); err != nil {
		c.badExpression(at, n, err)
	}
}

// badExpression reports an expression that cannot be read, on its own line where the text is a block of lines.
func (c *checker) badExpression(at *where, n *yaml.Node, err error) {
	problem := Problem{Path: at.String(), Line: n.Line, Column: n.Column, Severity: SeverityError, Code: "bad_expression", Message: err.Error()}
	start := 0
	if broken, ok := errors.AsType[*expr.SyntaxError](err); ok {
		start = broken.Start
		problem.Message = fmt.Sprintf("the expression %q cannot be read: %s (at character %d)", shorten(broken.Source), broken.Message, broken.Offset+1)
	}
	if broken, ok := errors.AsType[*expr.PathError](err); ok {
		start = broken.Start
		problem.Message = fmt.Sprintf("the variable %q cannot be read: %s", shorten(broken.Path), broken.Message)
	}
	if n.Style&yaml.LiteralStyle != 0 && n.Line > 0 && start <= len(n.Value) {
		problem.Line += 1 + strings.Count(n.Value[:start], "\n")
		problem.Column = 0
	}
	c.report(problem)
}

// text is the rule of a text of an instruction.
func text(c *checker, at *where, n *yaml.Node) {
	if c.isWords(at, n) {
		c.template(at, n)
	}
}

// number is the rule of a number of an instruction.
func number(c *checker, at *where, n *yaml.Node) {
	switch {
	case dynamic(n):
		c.template(at, n)
	case n.Kind != yaml.ScalarNode || plainTag(n.Value) != tagInt && plainTag(n.Value) != tagFloat:
		c.mind(at, n, "wrong_type", "this must be a number")
	}
}

// toggle is the rule of true or false in an instruction.
func toggle(c *checker, at *where, n *yaml.Node) {
	if dynamic(n) {
		c.template(at, n)
	} else {
		flag(c, at, n)
	}
}

// choiceOf is the rule of a text with a few allowed values in an instruction.
func choiceOf(values ...string) rule {
	known := oneOf(values...)
	return func(c *checker, at *where, n *yaml.Node) {
		if dynamic(n) {
			c.template(at, n)
		} else {
			known(c, at, n)
		}
	}
}

// or is the rule of a value that may be computed as a whole, and follows another rule when it is written out.
func or(written rule) rule {
	return func(c *checker, at *where, n *yaml.Node) {
		if dynamic(n) {
			c.template(at, n)
		} else {
			written(c, at, n)
		}
	}
}

// record is the rule of a map of computed values.
func record() rule { return or(mapOf(value)) }

// payload is the rule of what an event carries. Something else than a map would not be sent.
func payload(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.MappingNode && !dynamic(n) {
		c.mind(at, n, "wrong_type", "what an event carries must be a map of keys and values")
	}
	value(c, at, n)
}

// target is the rule of a variable that is written: where set, delete and output put their value.
func target(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) {
		return
	}
	if isTemplate(n.Value) {
		parsed, err := expr.ParseTemplate(n.Value)
		if err != nil {
			c.badExpression(at, n, err)
			return
		}
		if _, literal := parsed.Literal(); !literal {
			return
		}
	}
	if _, _, err := expr.ParseTarget(n.Value); err != nil {
		c.mind(at, n, "bad_variable", fmt.Sprintf("%q is not a variable such as name, user.name or list[0]: %s", shorten(n.Value), pathMessage(err)))
	}
}

func pathMessage(err error) string {
	if broken, ok := errors.AsType[*expr.PathError](err); ok {
		return broken.Message
	}
	return err.Error()
}

// emitted is the rule of the name of an event that is sent.
func emitted(c *checker, at *where, n *yaml.Node) {
	switch {
	case dynamic(n):
		c.template(at, n)
	case c.isWords(at, n) && !eventPattern.MatchString(n.Value):
		c.fail(at, n, "bad_event", "the name of an event has letters, digits, spaces and . _ -")
	}
}
