//go:build !linux

package worker

// thread is a thread of the system.
type thread struct{}

func thisThread() thread { return thread{} }

// first makes no difference where nothing is lowered.
func (thread) first() bool { return false }

// lower has no way to put a thread behind others here.
func (thread) lower() {}
