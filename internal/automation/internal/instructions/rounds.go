package instructions

import (
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// next gives the items of a repeat one by one; false at the end.
type next func() (item any, ok bool, err error)

// items gives what a repeat goes through; nil when there is nothing: numbers and the like have no items.
func items(on any) next {
	at := 0
	switch on := on.(type) {
	case []any:
		return func() (any, bool, error) {
			if at == len(on) {
				return nil, false, nil
			}
			at++
			return on[at-1], true, nil
		}
	case string:
		rest := []rune(on)
		return func() (any, bool, error) {
			if at == len(rest) {
				return nil, false, nil
			}
			at++
			return string(rest[at-1]), true, nil
		}
	case *value.Object:
		pairs := make([]any, 0, on.Len())
		for key, v := range on.All() {
			pairs = append(pairs, machine.Payload("key", key, "value", v))
		}
		return items(pairs)
	default:
		return nil
	}
}

// counted gives 0, 1, 2 and so on.
func counted() next {
	at := -1.0
	return func() (any, bool, error) {
		at++
		return at, true, nil
	}
}

// streamed gives what comes bit by bit. Others work meanwhile.
func streamed(f *machine.Frame, source machine.Source) next {
	ctx := f.Context()
	return func() (any, bool, error) {
		defer f.Away()()
		return source.Next(ctx)
	}
}

// round is a repeat that is being done.
type round struct {
	loop      *loop
	items     next
	most      float64 // how often, at most
	condition bool    // until is a condition: it is asked again after every time
	size      int
	interval  time.Duration
	done      int
	taken     []any
}

func (r *round) run(f *machine.Frame) error {
	for {
		batch, err := r.batch()
		if err != nil || len(batch) == 0 {
			return err
		}
		if r.done > 0 && r.interval > 0 {
			if err := f.Sleep(r.interval); err != nil {
				return err
			}
		}
		err = r.perform(f, batch)
		r.done += len(batch)
		if err != nil {
			if scope, leaves := machine.Leaves(err); leaves && scope == machine.ScopeRepeat {
				return nil
			}
			return err
		}
		if stop, err := r.over(f); err != nil || stop {
			return err
		}
	}
}

// over asks the condition that ends the repeat.
func (r *round) over(f *machine.Frame) (bool, error) {
	if !r.condition {
		return false, nil
	}
	v, err := r.loop.until(f)
	return value.Truthy(v), err
}

// batch takes the items that are done at the same time.
func (r *round) batch() ([]any, error) {
	batch := r.taken[:0]
	for len(batch) < r.size && float64(r.done+len(batch)) < r.most {
		item, ok, err := r.items()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		batch = append(batch, item)
	}
	if r.size == 1 {
		r.taken = batch // nobody keeps it
	}
	return batch, nil
}

// perform does the instructions for a batch.
func (r *round) perform(f *machine.Frame, batch []any) error {
	if r.size == 1 {
		return f.Iterate(r.done, batch[0], r.loop.do)
	}
	return f.First(f.Beside(len(batch), func(branch *machine.Frame, i int) error {
		return branch.Iterate(r.done+i, batch[i], r.loop.do)
	}))
}
