package worker

import (
	"runtime"
	"sync/atomic"

	"atelier/internal/automation/internal/code/wire"
)

// aside does something on a thread of its own, which the system puts behind everybody else when it takes long; at once when low is
// set. Such a thread ends with what it did, so that the next call begins like every other.
func (s *server) aside(low bool, do func()) {
	var decided atomic.Bool // that the thread is put behind, or that it has nothing more to do
	started, done, lowered := make(chan thread, 1), make(chan struct{}), make(chan struct{})
	go onThread(func() {
		defer close(done)
		own := thisThread()
		if low {
			own.lower()
		}
		started <- own
		do()
		if low {
			return
		}
		if decided.CompareAndSwap(false, true) {
			runtime.UnlockOSThread()
			return
		}
		<-lowered
	})
	own := <-started
	timer := s.clock.NewTimer(wire.Patience)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C():
	}
	if !low && decided.CompareAndSwap(false, true) {
		own.lower()
		close(lowered)
	}
	<-done
}

// onThread does something on a thread that ends with it, unless it unlocks that. The first thread of a process never ends, and would
// stay behind everybody else for good: whoever is on it waits there while another one does the work.
func onThread(do func()) {
	runtime.LockOSThread() // a goroutine that ends without an unlock takes its thread with it
	if !thisThread().first() {
		do()
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		do()
	}()
	<-ended
	runtime.UnlockOSThread()
}
