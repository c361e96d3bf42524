package machine

import (
	"errors"

	"atelier/internal/dsul/expr/value"
)

// loopShare is how many times a repeat goes round before it asks for the workspace's share.
const loopShare = 500

// Loop does a repeat. Afterwards item is what it was before, and so is $index inside of another repeat; otherwise it keeps the
// last number.
func (f *Frame) Loop(do func(f *Frame) error) error {
	item, index := f.saved(Item), f.saved(Index)
	f.loops++
	err := do(f)
	f.loops--
	failed := f.restore(Item, item)
	if f.loops > 0 && failed == nil {
		failed = f.restore(Index, index)
	}
	if err == nil {
		err = failed
	}
	return err
}

// saved gives a variable, nil when there is none: the value null is no pointer.
func (f *Frame) saved(name string) *any {
	vars := f.variables(name)
	if !vars.has(name) {
		return nil
	}
	v := vars.get(name, nil)
	return &v
}

func (f *Frame) restore(name string, saved *any) error {
	vars := f.variables(name)
	if saved == nil {
		return vars.drop(f, name)
	}
	return vars.put(f, name, *saved)
}

// Iterate does the instructions of a repeat once, for an item.
func (f *Frame) Iterate(index int, item any, do Block) error {
	if err := f.Tick(); err != nil {
		return err
	}
	if index > 0 && index%loopShare == 0 {
		if err := f.Throttle(ThrottleRepeats, loopShare); err != nil {
			return err
		}
	}
	if err := f.variables(Item).turn(f, item, float64(index)); err != nil {
		return err
	}
	return f.Inside(index, do)
}

// Over tells that the run ends with an error: it was stopped, or has used up what it may. Nothing can catch that.
func (f *Frame) Over(err error) bool {
	if err == nil {
		return false
	}
	_, leaves := Leaves(err)
	return f.ctx.Err() != nil || !leaves && FailureOf(err).final
}

// Caught gives what a failure is for the automation that caught it. What caused it is noted in the log.
func (f *Frame) Caught(err error) *value.Object {
	failure := FailureOf(err)
	if _, known := errors.AsType[*Failure](err); !known {
		f.note(failure)
	}
	return failure.Value()
}

// Traced tells that somebody wants to see the steps of the run.
func (f *Frame) Traced() bool { return f.step != nil }
