package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
)

// set changes a variable: {name, value, type}. A name that is known is read once.
func set(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	if n.Kind != yaml.MappingNode {
		return computedSet(c, n)
	}
	named, err := optional(c, n, "name")
	if err != nil {
		return nil, err
	}
	compute, err := optional(c, n, "value")
	if err != nil {
		return nil, err
	}
	kind, err := optional(c, n, "type")
	if err != nil {
		return nil, err
	}
	if name, ok := constantText(c, machine.Child(n, "name")); ok {
		return knownSet(name, compute, kind)
	}
	return func(f *machine.Frame) error {
		v, err := given(f, compute)
		if err != nil {
			return err
		}
		name, err := given(f, named)
		if err != nil {
			return err
		}
		target, err := targetOf("set", name, v)
		if err != nil {
			return err
		}
		return change(f, target, v, kind)
	}, nil
}

// knownSet sets a variable whose name needs no computing.
func knownSet(name string, compute, kind machine.Value) (machine.Step, error) {
	target, err := machine.ParseTarget(name)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		v, err := given(f, compute)
		if err != nil {
			return err
		}
		return change(f, target, v, kind)
	}, nil
}

// computedSet sets a variable of which everything is computed at once.
func computedSet(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	compute, err := c.Parameters(n)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		parameters, err := compute(f)
		if err != nil {
			return err
		}
		v := parameters.Get("value")
		target, err := targetOf("set", parameters.Get("name"), v)
		if err != nil {
			return err
		}
		return f.Change(kindOf(parameters.Get("type")), target, v)
	}, nil
}

func change(f *machine.Frame, target machine.Target, v any, kind machine.Value) error {
	computed, err := given(f, kind)
	if err != nil {
		return err
	}
	how := kindOf(computed)
	if f.Traced() {
		f.Show(machine.Payload("name", target.Name(), "value", v, "type", how))
	}
	return f.Change(how, target, v)
}

func constantText(c *machine.Compilation, n *yaml.Node) (string, bool) {
	if n == nil {
		return "", false
	}
	v, known := c.Constant(n)
	text, ok := v.(string)
	return text, ok && known
}

// kindOf reads type: replace unless it is merge or push.
func kindOf(v any) string {
	switch v {
	case machine.Merge, machine.Push:
		text, _ := v.(string)
		return text
	default:
		return machine.Replace
	}
}

// targetOf reads a name that was computed.
func targetOf(instruction string, name, v any) (machine.Target, error) {
	text, ok := name.(string)
	if !ok {
		return machine.Target{}, machine.Fail(machine.InvalidInstruction, "Invalid "+instruction+" instruction: name must be a text").
			With(machine.Payload("variable", name, "value", v))
	}
	return machine.ParseTarget(text)
}
