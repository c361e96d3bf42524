//go:build linux

package spawn

import "os"

// Await waits until a process has ended that may be no child.
func Await(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		await(p)
	}
}
