package instructions

import (
	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// otherwise is the branch that is taken when no other one is, wherever it stands.
const otherwise = "default"

type branch struct {
	expression string
	at         int // its place among the keys
	condition  machine.Value
	err        error // the expression cannot be read: whoever gets to it fails
	do         machine.Block
}

// conditions does the first branch whose expression holds, in the order they are written.
func conditions(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.Invalid("it must be a map of expressions and what to do when they hold")
	}
	var branches []branch
	var last *branch
	err := machine.Children(n, func(key string, child *yaml.Node) error {
		do, err := c.Steps(child)
		if err != nil {
			return err
		}
		b := branch{expression: key, at: len(branches), do: do}
		if key == otherwise {
			last = &b
			last.at = -1
			return nil
		}
		b.condition, b.err = c.Condition(key)
		branches = append(branches, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func(f *machine.Frame) error { return choose(f, branches, last) }, nil
}

func choose(f *machine.Frame, branches []branch, last *branch) error {
	for i := range branches {
		b := &branches[i]
		if b.err != nil {
			return b.err
		}
		v, err := b.condition(f)
		if err != nil {
			return err
		}
		if value.Truthy(v) {
			return take(f, b)
		}
	}
	if last == nil {
		return nil
	}
	return take(f, last)
}

func take(f *machine.Frame, b *branch) error {
	f.Branch(b.expression)
	return f.Inside(b.at, b.do)
}
