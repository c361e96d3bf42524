package machine

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/expr/value"
)

// line is one instruction of a block.
type line struct {
	name string
	do   Step
}

// Steps compiles a list of instructions. Nothing is a list without any.
func (c *Compilation) Steps(n *yaml.Node) (Block, error) {
	n = through(n)
	if isNull(n) {
		return func(*Frame) error { return nil }, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, Fail(InvalidInstruction, "Instructions must be a list; begin each of them with \"- \"")
	}
	lines := make([]line, 0, len(n.Content))
	for _, item := range n.Content {
		lines = append(lines, c.line(through(item)))
	}
	return func(f *Frame) error { return f.block(lines) }, nil
}

// Each compiles a list of instructions one by one, for who does not do them one after the other.
func (c *Compilation) Each(n *yaml.Node) ([]Block, error) {
	n = through(n)
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, Fail(InvalidInstruction, "Instructions must be a list; begin each of them with \"- \"")
	}
	blocks := make([]Block, len(n.Content))
	for i, item := range n.Content {
		lines := []line{c.line(through(item))}
		blocks[i] = func(f *Frame) error { return f.block(lines) }
	}
	return blocks, nil
}

// line compiles one instruction: the first key of a map. A map without keys does nothing.
func (c *Compilation) line(n *yaml.Node) line {
	all := entries(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return failing("", Fail(InvalidInstruction, "An instruction is a map with one key, such as \"set:\""))
	}
	if len(all) == 0 {
		return line{do: func(*Frame) error { return nil }}
	}
	name, parameters := all[0].key, all[0].value
	outer := c.instruction
	c.instruction = name
	defer func() { c.instruction = outer }()
	if isNull(parameters) && name != "comment" {
		return failing(name, Fail(InvalidInstruction, "Invalid "+name+" instruction : undefined or null payload"))
	}
	instruction, known := c.instructions[name]
	if !known {
		instruction = call(name)
	}
	do, err := instruction(c, parameters)
	if err != nil {
		return failing(name, err)
	}
	return line{name: name, do: do}
}

// failing is an instruction that cannot be done: whoever reaches it fails.
func failing(name string, err error) line {
	return line{name: name, do: func(*Frame) error { return err }}
}

// block does instructions one after the other.
func (f *Frame) block(lines []line) error {
	top, made := len(f.place), f.made
	f.place, f.made = append(f.place, 0), 0
	var err error
	for i := range lines {
		f.place[top] = int32(i)
		f.effects, f.calls = 0, 0
		if err = f.Tick(); err != nil {
			break
		}
		if f.run.Trace != nil {
			err = f.traced(&lines[i])
		} else {
			err = lines[i].do(f)
		}
		f.unmake()
		if err != nil {
			break
		}
	}
	f.place, f.made = f.place[:top], made
	return err
}

// Inside does a block that belongs to the instruction that is being done: at says which of its blocks, or which time it is done.
func (f *Frame) Inside(at int, block Block) error {
	f.place = append(f.place, int32(at)) //nolint:gosec // bounded by the steps of a run
	err := block(f)
	f.place = f.place[:len(f.place)-1]
	return err
}

// Simple makes an instruction of a function that gets its parameters, computed, and gives back what its output is set to:
// undefined sets nothing.
func Simple(do func(f *Frame, parameters *value.Object) (any, error)) Instruction {
	return func(c *Compilation, n *yaml.Node) (Step, error) {
		compute, err := c.Value(n)
		if err != nil {
			return nil, err
		}
		name := c.instruction
		return func(f *Frame) error {
			parameters, err := f.parameters(name, compute)
			if err != nil {
				return err
			}
			result, err := do(f, parameters)
			if err != nil {
				return err
			}
			return f.Output(parameters.Get("output"), result)
		}, nil
	}
}

// parameters computes what an instruction is given: a map of keys and values.
func (f *Frame) parameters(name string, compute Value) (*value.Object, error) {
	v, err := compute(f)
	if err != nil {
		return nil, err
	}
	if !value.Exists(v) {
		return nil, Fail(InvalidInstruction, "Invalid "+name+" instruction : undefined or null payload")
	}
	parameters, ok := v.(*value.Object)
	if !ok {
		return nil, Fail(InvalidInstruction, "Invalid "+name+" instruction: its parameters must be a map of keys and values")
	}
	f.Show(parameters)
	return parameters, nil
}

// Parameters compiles the parameters of an instruction: computed, they are a map of keys and values.
func (c *Compilation) Parameters(n *yaml.Node) (func(f *Frame) (*value.Object, error), error) {
	compute, err := c.Value(n)
	if err != nil {
		return nil, err
	}
	name := c.instruction
	return func(f *Frame) (*value.Object, error) { return f.parameters(name, compute) }, nil
}
