package instructions

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// loop is a compiled repeat.
type loop struct {
	on, until, size, interval machine.Value // nil where nothing is said
	do                        machine.Block
}

// repeat does instructions for every item of on, or as often as until says: {on, until, do, batch: {size, interval}}.
func repeat(c *machine.Compilation, n *yaml.Node) (machine.Step, error) {
	if n.Kind != yaml.MappingNode {
		return nil, c.Invalid("it must be a map with do, and on or until")
	}
	l := &loop{}
	var err error
	if l.do, err = c.Steps(machine.Child(n, "do")); err != nil {
		return nil, err
	}
	batch := machine.Child(n, "batch")
	if l.on, err = optional(c, n, "on"); err != nil {
		return nil, err
	}
	if l.until, err = optional(c, n, "until"); err != nil {
		return nil, err
	}
	if l.size, err = optional(c, batch, "size"); err != nil {
		return nil, err
	}
	if l.interval, err = optional(c, batch, "interval"); err != nil {
		return nil, err
	}
	return l.run, nil
}

// optional compiles a parameter; nil where nothing is said.
func optional(c *machine.Compilation, n *yaml.Node, key string) (machine.Value, error) {
	child := machine.Child(n, key)
	if child == nil {
		return nil, nil //nolint:nilnil // nothing is said
	}
	return c.Value(child)
}

// given computes a parameter, undefined where nothing is said.
func given(f *machine.Frame, v machine.Value) (any, error) {
	if v == nil {
		return value.Undefined{}, nil
	}
	return v(f)
}

func (l *loop) run(f *machine.Frame) error {
	on, err := given(f, l.on)
	if err != nil {
		return err
	}
	until, err := given(f, l.until)
	if err != nil {
		return err
	}
	r := &round{loop: l, size: 1}
	if err := r.batches(f); err != nil {
		return err
	}
	if f.Traced() {
		f.Show(machine.Payload("on", on, "until", until))
	}
	if source, ok := on.(machine.Source); ok {
		r.items = streamed(f, source)
		defer func() { _ = source.Close() }() // the rest is not wanted
	} else if r.items = items(on); r.items == nil && !value.Exists(on) && value.Exists(until) {
		r.items = counted()
	}
	if r.items == nil {
		return nil
	}
	r.most = math.Inf(1)
	switch until := until.(type) {
	case bool:
		r.condition = true
		if until {
			return nil
		}
	case nil, value.Undefined:
	default:
		if n := value.Number(until); !math.IsNaN(n) {
			r.most = n
		} else if l.on == nil {
			return nil
		}
	}
	return f.Loop(r.run)
}

// batches reads how many items are done at the same time, and how long to wait between them.
func (r *round) batches(f *machine.Frame) error {
	size, err := given(f, r.loop.size)
	if err != nil {
		return err
	}
	interval, err := given(f, r.loop.interval)
	if err != nil {
		return err
	}
	const most, longest = 1000, float64(time.Hour / time.Millisecond)
	if n := value.Number(size); value.Exists(size) && n >= 1 {
		r.size = int(min(n, most))
	}
	if ms := value.Number(interval); value.Exists(interval) && ms > 0 {
		r.interval = time.Duration(min(ms, longest) * float64(time.Millisecond))
	}
	return nil
}
