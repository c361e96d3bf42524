//go:build !linux

package worker

// thread is a thread of the system.
type thread struct{}

func thisThread() thread { return thread{} }

// lower has no way to put a thread behind others here.
func (thread) lower() {}
