package expr

import (
	"errors"
	"strings"

	"atelier/internal/dsul/expr/internal/functions"
	"atelier/internal/dsul/expr/value"
)

// Compile makes a program of an expression that was parsed.
func Compile(n Node) (Program, error) {
	run, err := compile(n)
	return Program{run}, err
}

func compile(n Node) (step, error) {
	switch n := n.(type) {
	case *Literal:
		return func(*state) (any, error) { return n.Value, nil }, nil
	case *Variable:
		return compileVariable(n, strictKeys)
	case *Text:
		return compileText(n, n.Parts)
	case *Not:
		return compileNot(n)
	case *Exists:
		return compileExists(n)
	case *Chain:
		return compileChain(n)
	case *Regex:
		return compileRegex(n)
	case *Call:
		return compileCall(n)
	default:
		return nil, errors.New("there is nothing to compile")
	}
}

func compileAll(nodes []Node) ([]step, error) {
	steps := make([]step, len(nodes))
	for i, n := range nodes {
		var err error
		if steps[i], err = compile(n); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

func runAll(s *state, steps []step) ([]any, error) {
	values := make([]any, len(steps))
	for i, run := range steps {
		v, err := run(s)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func compileNot(n *Not) (step, error) {
	x, err := compile(n.X)
	return func(s *state) (any, error) {
		v, err := x(s)
		return !value.Truthy(v), err
	}, err
}

func compileExists(n *Exists) (step, error) {
	x, err := compile(n.X)
	return func(s *state) (any, error) {
		v, err := x(s)
		return value.Exists(v) != n.Negated, err
	}, err
}

// compileText puts the texts of some nodes one behind the other.
func compileText(n Node, parts []Node) (step, error) {
	steps, err := compileAll(parts)
	return func(s *state) (any, error) {
		var joined strings.Builder
		for _, run := range steps {
			v, err := run(s)
			if err != nil {
				return nil, err
			}
			text, err := s.text(n, v)
			if err != nil {
				return nil, err
			}
			joined.WriteString(text)
		}
		return joined.String(), nil
	}, err
}

// compileRegex makes the value of a regular expression what package pattern compiled.
func compileRegex(n *Regex) (step, error) {
	if n.Compiled != nil {
		return func(*state) (any, error) { return n.Compiled, nil }, nil
	}
	source, err := compile(n.Source)
	return func(s *state) (any, error) {
		v, err := source(s)
		if err != nil {
			return nil, err
		}
		return s.pattern(n, value.String(v), n.Raw)
	}, err
}

func compileCall(n *Call) (step, error) {
	function, ok := functions.Find(n.Name)
	if !ok {
		return nil, failAt(n, "unknown function '%s'", n.Name)
	}
	args := make([]Node, len(n.Args))
	for i, arg := range n.Args {
		args[i] = arg
		if variable, ok := byName(arg); ok && function.Named {
			args[i] = variable
		}
	}
	steps, err := compileAll(args)
	return func(s *state) (any, error) {
		values, err := runAll(s, steps)
		if err != nil {
			return nil, err
		}
		v, err := function.Run(&functions.Call{Args: values, Field: n.Field, Env: s.env, Budget: &s.budget})
		if err != nil {
			return nil, failAt(n, "%s(): %v", n.Name, err)
		}
		return v, nil
	}, err
}
