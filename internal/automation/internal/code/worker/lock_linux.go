package worker

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"atelier/internal/automation/internal/code/wire"
)

// goRoom is what the process itself needs beside the values of the code.
const goRoom = 96 << 20

// What a process may take of the machine.
const (
	mostFiles   = 16
	mostThreads = 64
	mostCPU     = 3600 // seconds: a process is given up long before
	niceness    = 10
)

// Lock takes away from the process all that it can be without, and names what worked. Each shield is enough to keep code from
// the machine that has broken out of the engine; where a container or an old kernel does not allow one the others remain.
func Lock(setup wire.Setup) (shields []string) {
	runtime.LockOSThread() // some of it belongs to a thread first, and to the process after that
	defer runtime.UnlockOSThread()
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // a hint: when memory is short, a worker is what can be spared
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)                // nobody looks into it
	if limits(setup) {
		shields = append(shields, "limits")
	}
	if setup.Isolated {
		shields = append(shields, "namespaces")
		if emptyRoot() == nil {
			shields = append(shields, "root")
		}
	}
	if noNewPrivileges() == nil {
		shields = append(shields, "no_new_privs")
	}
	if landlock() == nil {
		shields = append(shields, "landlock")
	}
	if dropCapabilities() == nil {
		shields = append(shields, "capabilities")
	}
	if filterCalls() == nil {
		shields = append(shields, "seccomp")
	}
	return shields
}

// stepBack puts the process a little behind the others on the machine. It is a hint.
func stepBack() { _ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness) }

// limits bounds memory, processor time, files and threads.
func limits(setup wire.Setup) bool {
	bounds := map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: mostFiles, unix.RLIMIT_CPU: mostCPU,
		unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: 0,
	}
	if size, ok := addressSpace(); ok {
		const machines = 2                                                             // one that lives, and one for a single call
		bounds[unix.RLIMIT_AS] = size + machines*uint64(setup.Heap) + 2*uint64(goRoom) //nolint:gosec // a limit is not negative
	}
	if setup.Isolated { // without a namespace those of the whole user would count
		bounds[unix.RLIMIT_NPROC] = mostThreads
	}
	ok := true
	for resource, bound := range bounds {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: bound, Max: bound}); err != nil {
			ok = false
		}
	}
	return ok
}

// addressSpace is what is mapped already: the runtime of Go reserves much more than it uses.
func addressSpace() (bytes uint64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	pages, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseUint(pages, 10, 64)
	if err != nil {
		return 0, false
	}
	return n * uint64(os.Getpagesize()), true //nolint:gosec // the size of a page is positive
}

// emptyRoot makes an empty folder, which cannot be written, all that the process sees of any file system.
func emptyRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	var err error
	for _, place := range []string{"/proc", "/dev", "/tmp", "/sys"} { // one that exists will do
		if err = unix.Mount("none", place, "tmpfs", flags, "size=4k,nr_inodes=2,mode=0"); err != nil {
			continue
		}
		if err = unix.Chdir(place); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_RDONLY|flags, "")
}

// noNewPrivileges makes that no thread ever gets a privilege that it has not. Where only one thread can be told, the filter of
// calls tells the others.
func noNewPrivileges() error {
	if err := every(syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)); err == nil {
		return nil
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// dropCapabilities gives up every privilege of every thread.
func dropCapabilities() error {
	type header struct {
		version uint32
		pid     int32
	}
	h, data := header{version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	return every(syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&data)), 0)) //nolint:gosec // how the kernel is given structs
}
