package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
)

// all does instructions at the same time, in the same variables, and waits for all of them: a list, or {do: a list}. When some
// fail the others go on; then the first failure is that of the instruction.
func all(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	if n.Kind == yaml.MappingNode {
		n = machine.Child(n, "do")
	}
	blocks, err := c.Each(n)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		return f.First(f.Beside(len(blocks), func(branch *machine.Frame, i int) error { return blocks[i](branch) }))
	}, nil
}
