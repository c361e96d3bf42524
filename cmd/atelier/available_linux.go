package main

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// available is how many bytes of memory the process may have: those of the machine, or what its container allows. Zero when nobody
// tells.
func available() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	most := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // it is 32 bits wide on some machines
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // another version, or none
		}
		if limit, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil {
			most = min(most, limit)
		}
	}
	return most
}
