package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
)

// comment does nothing. Its text is not read, so nothing in it can be wrong.
func comment(*machine.Compilation, *yaml.Node) (machine.Step, error) {
	return func(*machine.Frame) error { return nil }, nil
}
