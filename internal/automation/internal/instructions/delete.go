package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// remove takes a variable, a key of an object or an item of a list away: {name}.
func remove(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	compute, err := c.Parameters(n)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		parameters, err := compute(f)
		if err != nil {
			return err
		}
		target, err := targetOf("delete", parameters.Get("name"), value.Undefined{})
		if err != nil {
			return err
		}
		return f.Change(machine.Delete, target, value.Undefined{})
	}, nil
}
