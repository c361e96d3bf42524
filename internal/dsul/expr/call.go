package expr

import (
	"strings"

	"atelier/internal/dsul/expr/internal/functions"
)

// Functions lists the names of all functions, in alphabetical order.
func Functions() []string { return functions.Names() }

// call reads name(arguments).field. The name stands at the place, directly before its parenthesis.
func (p *parser) call(name string) (Node, error) {
	begin := p.at
	function, known := functions.Find(name)
	switch {
	case strings.EqualFold(name, "regex"):
		return nil, p.fail(begin, "regex(...) may only stand behind matches, or be what replace() looks for")
	case !known:
		return nil, p.fail(begin, "unknown function '%s': the functions are %s", shorten(name), strings.Join(functions.Names(), ", "))
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.at += len(name) + 1
	call := &Call{At: p.pos(begin), Name: name}
	if err := p.arguments(call, function.Regex); err != nil {
		return nil, err
	}
	field, err := p.field()
	call.Field, p.arithmetic = field, true
	return call, err
}

// arguments reads values with commas between them, and the closing parenthesis.
func (p *parser) arguments(call *Call, regex bool) error {
	p.blank()
	if p.sees(")") {
		p.at++
		return nil
	}
	for {
		argument, err := p.argument(regex)
		if err != nil {
			return err
		}
		call.Args = append(call.Args, argument)
		p.blank()
		switch {
		case p.sees(","):
			p.at++
		case p.sees(")"):
			p.at++
			return nil
		default:
			return p.badArgument(call.Name)
		}
	}
}

func (p *parser) argument(regex bool) (Node, error) {
	p.blank()
	if regex && p.seesRegex() {
		return p.argumentRegex()
	}
	return p.unary()
}

func (p *parser) badArgument(name string) error {
	if op, _ := operatorAt(p.source, p.at); op != 0 {
		return p.fail(p.at, "a comparison as an argument of %s() stands in parentheses", name)
	}
	return p.expected(", or ) in the arguments of " + name + "()")
}

// field reads .name behind a call.
func (p *parser) field() (string, error) {
	if !p.sees(".") {
		return "", nil
	}
	p.at++
	name := wordAt(p.source, p.at)
	if name == "" {
		return "", p.expected("the name of a field behind the dot")
	}
	p.at += len(name)
	return name, nil
}

// named returns the variables that a call names by their paths, as texts: isArray("a.b") asks about {{a.b}}.
func named(call *Call) []*Variable {
	function, _ := functions.Find(call.Name)
	if !function.Named {
		return nil
	}
	var found []*Variable
	for _, argument := range call.Args {
		if variable, ok := byName(argument); ok {
			found = append(found, variable)
		}
	}
	return found
}

// byName makes a variable of a text that is the path of one.
func byName(argument Node) (*Variable, bool) {
	literal, ok := argument.(*Literal)
	if !ok {
		return nil, false
	}
	path, ok := literal.Value.(string)
	if !ok {
		return nil, false
	}
	steps, err := ParsePath(path)
	return &Variable{At: literal.At, Steps: steps}, err == nil
}
