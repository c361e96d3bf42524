package machine

import (
	"math"

	"atelier/internal/automation/internal/turns"
)

// defaultDepth is how many automations may call each other where nothing is said.
const defaultDepth = 20

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return defaultDepth
	}
	return l.Depth
}

// memory is the limit of a run, as large as can be when there is none.
func (l Limits) memory() int64 {
	if l.Memory <= 0 {
		return math.MaxInt64 / 4
	}
	return l.Memory
}

// heavy is the failure of a run whose variables take too much.
func heavy() *Failure {
	return Fail(QuotaExceeded, "The variables of the run take too much memory, or are nested too deep; keep less in them, or delete what is not needed any more").
		With(Payload("quota", "memory")).Finally()
}

// charge takes what a change of variables needs from the memory of the run.
func (f *Frame) charge(vars *variables, delta int64) error {
	if delta == 0 {
		return nil
	}
	if f.run.state.memory.Add(delta) > f.machine.Limits.memory() && delta > 0 {
		f.run.state.memory.Add(-delta)
		return heavy()
	}
	vars.weight += delta
	return nil
}

// make pays for a large value that an expression made, until the instruction is done that it was made for: values that nobody
// keeps take memory as well, and branches make them at the same time.
func (f *Frame) make(v any) error {
	const large = 4 << 10
	var size int64
	switch v := v.(type) {
	case string:
		size = int64(len(v))
	case []any:
		size = weightItem * int64(len(v))
	}
	if size < large {
		return nil
	}
	f.made += size
	f.weighed += size
	if f.run.state.memory.Add(size) > f.machine.Limits.memory() {
		return heavy()
	}
	return nil
}

// unmake gives back what the expressions of an instruction made.
func (f *Frame) unmake() {
	if f.made != 0 {
		f.run.state.memory.Add(-f.made)
		f.made = 0
	}
}

// release gives back what variables took.
func (f *Frame) release(vars *variables) {
	vars.mu.Lock()
	defer vars.mu.Unlock()
	f.run.state.memory.Add(-vars.weight)
}

// large reports variables that take more than they should, once.
func (f *Frame) large() {
	limit := f.machine.Limits.Local
	if limit <= 0 || f.reported.Load() {
		return
	}
	f.locals.mu.Lock()
	weight := f.locals.weight
	f.locals.mu.Unlock()
	if weight > limit && f.reported.CompareAndSwap(false, true) {
		f.Report(Fail(QuotaExceeded, "The local variables of the automation take more than they should; keep less in them").
			With(Payload("quota", "local", "size", float64(weight), "limit", float64(limit))))
	}
}

// Tick counts a step. Now and then it lets others work, and sees whether the run may go on.
func (f *Frame) Tick() error {
	if f.ticks++; f.ticks < turns.Often && f.weighed < muchWeighed {
		return nil
	}
	return f.settle()
}

// muchWeighed is how many bytes of values are weighed before anybody else has a turn.
const muchWeighed = 4 << 20

// settle counts the steps since the last time.
func (f *Frame) settle() error {
	done := f.run.state.steps.Add(int64(f.ticks))
	worked := f.ticks
	if f.weighed >= muchWeighed {
		worked = turns.Often // so much takes as long as many steps
	}
	f.ticks, f.weighed = 0, 0
	if limit := f.machine.Limits.Steps; limit > 0 && done > limit {
		return Fail(QuotaExceeded, "The run has done too many instructions; do less in one run, or split it by events").
			With(Payload("quota", "steps", "limit", float64(limit))).Finally()
	}
	f.large()
	f.stint.Step(f.ctx, worked)
	return f.ctx.Err()
}
