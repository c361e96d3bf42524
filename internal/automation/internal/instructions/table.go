// Package instructions are the instructions that steer an automation: they set variables, choose, repeat, run beside each other,
// catch and leave. Each has a file; the table names them. What acts on the world stands in packages of its own.
package instructions

import "atelier/internal/automation/internal/machine"

// Control gives the instructions of this package. Those of other packages are put beside them by the service.
func Control() machine.Instructions {
	return machine.Instructions{
		"all":         all,
		"break":       leave,
		"comment":     comment,
		"conditions":  conditions,
		"delete":      remove,
		"repeat":      repeat,
		"runWorkflow": runWorkflow,
		"set":         set,
		"try":         try,
	}
}
