package machine

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// compiled is a value of a definition: one that is known already, or one that is computed in a frame.
type compiled struct {
	value any
	run   Value
}

func (m compiled) constant() bool { return m.run == nil }

func (m compiled) program() Value {
	if m.run != nil {
		return m.run
	}
	v := m.value
	return func(*Frame) (any, error) { return v, nil }
}

// Value compiles anything of which every text is a template.
func (c *Compilation) Value(n *yaml.Node) (Value, error) {
	made, err := c.compile(n)
	if err != nil {
		return nil, err
	}
	return made.program(), nil
}

// Constant gives the value of a node when nothing in it has to be computed.
func (c *Compilation) Constant(n *yaml.Node) (any, bool) {
	made, err := c.compile(n)
	return made.value, err == nil && made.constant()
}

func (c *Compilation) compile(n *yaml.Node) (compiled, error) {
	n = through(n)
	if n == nil {
		return compiled{}, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.object(n)
	case yaml.SequenceNode:
		return c.list(n)
	default:
		if isText(n) {
			return compileText(n.Value)
		}
		v, err := value.Decode(string(dsul.JSON(n)))
		return compiled{value: v}, err
	}
}

func (c *Compilation) object(n *yaml.Node) (compiled, error) {
	all := entries(n)
	keys, parts := make([]string, len(all)), make([]compiled, len(all))
	known := value.NewObject(len(all))
	constant := true
	for i, e := range all {
		made, err := c.compile(e.value)
		if err != nil {
			return compiled{}, err
		}
		keys[i], parts[i] = e.key, made
		constant = constant && made.constant()
		known.Set(e.key, made.value)
	}
	if constant {
		return compiled{value: known}, nil
	}
	return compiled{run: func(f *Frame) (any, error) {
		o := value.NewObject(len(parts))
		for i := range parts {
			v := parts[i].value
			if parts[i].run != nil {
				var err error
				if v, err = parts[i].run(f); err != nil {
					return nil, err
				}
			}
			o.Set(keys[i], v)
		}
		return o, nil
	}}, nil
}

func (c *Compilation) list(n *yaml.Node) (compiled, error) {
	parts := make([]compiled, len(n.Content))
	known := make([]any, len(n.Content))
	constant := true
	for i, item := range n.Content {
		made, err := c.compile(item)
		if err != nil {
			return compiled{}, err
		}
		parts[i], known[i] = made, made.value
		constant = constant && made.constant()
	}
	if constant {
		return compiled{value: known}, nil
	}
	return compiled{run: func(f *Frame) (any, error) {
		list := make([]any, len(parts))
		for i := range parts {
			list[i] = parts[i].value
			if parts[i].run != nil {
				var err error
				if list[i], err = parts[i].run(f); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	}}, nil
}

// compileText compiles a template. One that is a variable and nothing else is looked up without a detour.
func compileText(text string) (compiled, error) {
	template, err := expr.ParseTemplate(text)
	if err != nil {
		return compiled{}, unreadable(err, text)
	}
	if literal, ok := template.Literal(); ok {
		return compiled{value: literal}, nil
	}
	if node, ok := template.Whole(); ok {
		if variable, ok := node.(*expr.Variable); ok && !variable.Dynamic() {
			return compiled{run: readVariable(variable.Static())}, nil
		}
	}
	program, err := expr.CompileTemplate(template)
	if err != nil {
		return compiled{}, unreadable(err, text)
	}
	return compiled{run: runProgram(program, text)}, nil
}

func readVariable(path []string) Value {
	root, keys := path[0], path[1:]
	return func(f *Frame) (any, error) {
		v := f.at(root, keys)
		return v, f.trouble()
	}
}

func runProgram(program expr.Program, source string) Value {
	return func(f *Frame) (any, error) {
		v, err := program.Eval(f.environment())
		if err == nil {
			err = f.trouble()
		}
		if err != nil {
			return nil, unreadable(err, source)
		}
		return v, f.make(v)
	}
}

// Condition compiles an expression.
func (c *Compilation) Condition(expression string) (Value, error) {
	node, err := expr.Parse(expression)
	if err != nil {
		return nil, unreadable(err, expression)
	}
	if variable, ok := node.(*expr.Variable); ok && !variable.Dynamic() {
		return readVariable(variable.Static()), nil
	}
	program, err := expr.Compile(node)
	if err != nil {
		return nil, unreadable(err, expression)
	}
	return runProgram(program, expression), nil
}
