package worker

import "syscall"

// every is the error of a call of the system that was made on all threads. There is one where the program is linked with C, as
// tests that look for races are.
func every(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
