package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
)

// The places of the blocks of a try.
const (
	tryDo = iota
	tryCatch
	tryFinally
)

// try catches what its instructions fail with: {do, catch, finally}. The failure is $error, in catch and after it. Leaving early
// is no failure, and what ends the run cannot be caught.
func try(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.Invalid("it must be a map with do, and catch or finally")
	}
	do, err := c.Steps(machine.Child(n, "do"))
	if err != nil {
		return nil, err
	}
	catch, err := c.Steps(machine.Child(n, "catch"))
	if err != nil {
		return nil, err
	}
	finally, err := c.Steps(machine.Child(n, "finally"))
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error {
		err := attempt(f, do, catch)
		if f.Over(err) {
			return err // nothing is done any more
		}
		if last := f.Inside(tryFinally, finally); last != nil {
			return last
		}
		return err
	}, nil
}

func attempt(f *machine.Frame, do, catch machine.Block) error {
	err := f.Inside(tryDo, do)
	if err == nil || f.Over(err) {
		return err
	}
	if _, leaves := machine.Leaves(err); leaves {
		return err
	}
	if err := f.Set(machine.Error, f.Caught(err)); err != nil {
		return err
	}
	f.Branch("catch")
	return f.Inside(tryCatch, catch)
}
