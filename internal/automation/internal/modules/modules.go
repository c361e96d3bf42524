// Package modules is the instruction run: it calls a function of a module of the platform, such as crypto or text.
package modules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/shown"
	"atelier/internal/dsul/expr/value"
)

// Function is a function of a module. It gets its parameters and gives its result.
type Function = func(f *machine.Frame, parameters *value.Object) (any, error)

// Table is the modules by name, each with its functions by name. It is not changed once an instruction is made of it.
type Table map[string]map[string]Function

// What becomes of the error of a function.
const (
	// onBreak is the default: the automation fails.
	onBreak = "break"
	// onEmit emits an error event, and the automation goes on.
	onEmit = "emit"
	// onContinue makes the error the output.
	onContinue = "continue"
)

// Instruction makes the instruction run of the modules there are:
//
//	run: {module, function, parameters, onError: break | emit | continue, output}
func Instruction(table Table) machine.Instruction {
	return machine.Simple(table.run)
}

// run calls a function and does with its error what onError asks for.
func (t Table) run(f *machine.Frame, parameters *value.Object) (any, error) {
	c, err := t.find(parameters)
	if err != nil {
		return nil, err
	}
	result, err := c.function(f, c.parameters)
	if err == nil {
		return result, nil
	}
	if c.onError == onBreak || f.Context().Err() != nil { // a run that is over does not go on
		return nil, err
	}
	if _, ofLanguage := errors.AsType[*machine.Failure](err); !ofLanguage {
		f.Machine().Log.WarnContext(f.Context(), "a module failed", "module", c.module, "function", c.name, "error", err)
	}
	failure := shown.Failure(err)
	if c.onError == onContinue {
		return shown.Object(failure), nil
	}
	f.Report(failure)
	return value.Undefined{}, nil
}

// call is what an instruction asks for.
type call struct {
	module, name, onError string
	function              Function
	parameters            *value.Object
}

// find reads what an instruction asks for. What there is not, is told with what there is.
func (t Table) find(parameters *value.Object) (call, error) {
	c := call{onError: onBreak}
	var ok bool
	if c.module, ok = parameters.Get("module").(string); !ok || t[c.module] == nil {
		return c, unknown("module", parameters.Get("module"), slices.Sorted(maps.Keys(t)))
	}
	functions := t[c.module]
	if c.name, ok = parameters.Get("function").(string); !ok || functions[c.name] == nil {
		return c, unknown("function", parameters.Get("function"), slices.Sorted(maps.Keys(functions)))
	}
	c.function = functions[c.name]
	switch given := parameters.Get("parameters").(type) {
	case *value.Object:
		c.parameters = given
	case nil, value.Undefined:
		c.parameters = value.NewObject(0)
	default:
		return c, machine.Fail(machine.InvalidInstruction, "run: parameters must be an object")
	}
	if given := parameters.Get("onError"); value.Exists(given) {
		if c.onError, ok = given.(string); !ok || !slices.Contains([]string{onBreak, onEmit, onContinue}, c.onError) {
			return c, unknown("onError", given, []string{onBreak, onEmit, onContinue})
		}
	}
	return c, nil
}

// unknown tells that something is missing, or is none of those there are.
func unknown(key string, given any, known []string) error {
	const longest = 100
	details := machine.Payload(key, value.Undefined{}, "available", value.From(known))
	if !value.Exists(given) {
		return machine.Fail(machine.InvalidInstruction, fmt.Sprintf("run: %s is missing; it is one of %s", key, strings.Join(known, ", "))).With(details)
	}
	text := value.String(given)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	details.Set(key, text)
	return machine.Fail(machine.InvalidInstruction, fmt.Sprintf("run: there is no %s %q; it is one of %s", key, text, strings.Join(known, ", "))).With(details)
}
