package machine

import (
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"atelier/internal/dsul/expr/value"
)

// How many branches of a run may work at the same time; fewer where the workspace has to take turns, as they could only wait for
// each other. More of them are done one after the other.
const (
	most      = 1024
	mostHeavy = 32
)

// most is how many branches of the run may work now.
func (f *Frame) most() int32 {
	if f.stint.Holds() {
		return mostHeavy
	}
	return most
}

// fork makes a branch: the same variables, but for those of loops and of what was caught.
func (f *Frame) fork(at int) *Frame {
	own := value.NewObject(3)
	for _, name := range [...]string{Item, Index, Error} {
		if vars := f.variables(name); vars.has(name) {
			own.Set(name, vars.get(name, nil))
		}
	}
	branch := &Frame{invocation: f.invocation, apart: &variables{locals: own}, loops: f.loops}
	branch.place = append(slices.Clone(f.place), int32(at)) //nolint:gosec // bounded by the steps of a run
	branch.step = f.step
	return branch
}

// close ends a branch.
func (f *Frame) close() error {
	f.release(f.apart)
	return f.settle()
}

// Beside does n things at the same time, each in a branch of its own, and waits for all of them. It gives the errors, in their
// order: nil where there is none.
func (f *Frame) Beside(n int, do func(branch *Frame, i int) error) []error {
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		if err := f.Tick(); err != nil { // a run that is over begins nothing
			failed[i] = err
			break
		}
		branch := f.fork(i)
		work := func() {
			failed[i] = branch.guarded(func() error { return do(branch, i) })
			if err := branch.close(); failed[i] == nil {
				failed[i] = err
			}
		}
		if i == n-1 || !f.run.state.branch(f.most()) {
			branch.stint = f.stint
			work() // this goroutine has nothing else to do
			continue
		}
		all.Go(func() {
			defer f.run.state.branches.Add(-1)
			defer branch.begin(f)()
			work()
		})
	}
	f.await(&all)
	return failed
}

// First gives what becomes of an instruction whose branches ended so: a failure goes before a break, and what is left of the
// failures is reported.
func (f *Frame) First(failed []error) error {
	var first error
	for _, err := range failed {
		if err == nil {
			continue
		}
		_, leaves := Leaves(err)
		_, left := Leaves(first)
		switch {
		case first == nil, left && !leaves:
			first = err
		case !leaves && !errors.Is(err, f.ctx.Err()):
			f.Report(FailureOf(err))
		}
	}
	return first
}

// Spawn does something beside the run, which ends when that has ended too. A failure is reported; that the run is over only once.
func (f *Frame) Spawn(do func(branch *Frame) error) error {
	if err := f.settle(); err != nil {
		return err
	}
	branch := f.fork(0)
	branch.step = nil
	work := func() {
		err := branch.guarded(func() error { return do(branch) })
		if _, leaves := Leaves(err); err != nil && !leaves && (!f.Over(err) || f.run.state.told.CompareAndSwap(false, true)) {
			branch.Report(FailureOf(err))
		}
		_ = branch.close() // nobody is left who could stop
	}
	if !f.run.state.branch(f.most()) {
		branch.stint = f.stint
		work()
		return nil
	}
	f.root.beside.Go(func() {
		defer f.run.state.branches.Add(-1)
		defer branch.begin(f)()
		work()
	})
	return nil
}

// begin begins the work of a branch in a goroutine of its own. What it gives ends it.
func (f *Frame) begin(beside *Frame) (end func()) {
	f.stint = beside.stint.Beside(f.ctx)
	return f.stint.End
}

// await waits for branches, which need the processors more.
func (f *Frame) await(branches *sync.WaitGroup) {
	defer f.Away()()
	branches.Wait()
}

// guarded does something, and makes a failure of a panic.
func (f *Frame) guarded(do func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = f.recovered(panicked)
		}
	}()
	return do()
}

func stack() string {
	const enough = 8 << 10
	text := debug.Stack()
	return string(text[:min(len(text), enough)])
}
