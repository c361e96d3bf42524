//go:build unix

package turns

import (
	"syscall"
	"time"
)

// Spent is how much processor time this process has used, without its children.
func Spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
