package main

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// sliceOfThread is how long a thread keeps its processor before one that wakes up may have it. By default it is several times as
// long as a request takes.
const sliceOfThread = 100 * time.Microsecond

// shareProcessors asks the system to let a thread that wakes up work soon, also beside threads of this process that work without a
// pause. New threads are like the one that starts them. Kernels before 6.12 do not listen.
func shareProcessors() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return // without it nothing is known of threads
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy == unix.SCHED_NORMAL {
			attr.Runtime = uint64(sliceOfThread.Nanoseconds()) //nolint:gosec // it is positive
			_ = unix.SchedSetAttr(id, attr, 0)                 // a wish
		}
	}
}
