package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// runWorkflow calls the automation that a text names: {workflow, parameters, output, wait}. With wait: false it runs beside the
// run, which ends when it has ended too, and gives nothing back.
func runWorkflow(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	compute, err := c.Parameters(n)
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		parameters, err := compute(f)
		if err != nil {
			return err
		}
		return start(f, parameters)
	}, nil
}

func start(f *machine.Frame, parameters *value.Object) error {
	name, ok := parameters.Get("workflow").(string)
	if !ok {
		return machine.Fail(machine.InvalidInstruction, "Invalid runWorkflow instruction: workflow must be the slug of an automation")
	}
	automation, err := f.Find(name)
	if err != nil {
		return err
	}
	arguments, ok := parameters.Get("parameters").(*value.Object)
	if !ok {
		if value.Exists(parameters.Get("parameters")) {
			return machine.Fail(machine.InvalidInstruction, "Invalid runWorkflow instruction: parameters must be a map of keys and values")
		}
		arguments = value.NewObject(0)
	}
	if parameters.Get("wait") == false {
		return f.Spawn(func(branch *machine.Frame) error {
			_, err := branch.Call(automation, arguments)
			return err
		})
	}
	result, err := f.Call(automation, arguments)
	if err != nil {
		return err
	}
	return f.Output(parameters.Get("output"), result)
}
