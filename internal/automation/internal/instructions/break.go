package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// leave ends the nearest repeat, the automation, or all of the run: {scope, payload}. The payload is the output.
func leave(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	compute, err := c.Parameters(n)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		parameters, err := compute(f)
		if err != nil {
			return err
		}
		output := parameters.Get("payload")
		if !value.Exists(output) {
			output = value.Undefined{}
		}
		scope, _ := parameters.Get("scope").(string)
		return machine.Break(scope, output)
	}, nil
}
