package worker

import "golang.org/x/sys/unix"

// lowest is the least that a thread may count: the others on the machine get about seventy times as much.
const lowest = 19

// thread is a thread of the system.
type thread int

func thisThread() thread { return thread(unix.Gettid()) }

// first tells that it is the one that the process began with.
func (t thread) first() bool { return int(t) == unix.Getpid() }

// lower puts a thread behind everybody on the machine who has something to do. Where it is not allowed the thread stays what it
// is: a little behind the others.
func (t thread) lower() { _ = unix.Setpriority(unix.PRIO_PROCESS, int(t), lowest) }
