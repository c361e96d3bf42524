package code_test

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func probes() map[string]func() string {
	return map[string]func() string{
		"environment":   readsEnvironment,
		"read a file":   func() string { _, err := os.ReadFile("/etc/passwd"); return said(err) },
		"read proc":     func() string { _, err := os.ReadFile("/proc/self/environ"); return said(err) },
		"read parent":   func() string { _, err := os.ReadFile("/proc/1/environ"); return said(err) },
		"list root":     func() string { _, err := os.ReadDir("/"); return said(err) },
		"write a file":  func() string { return said(os.WriteFile("/tmp/atelier-escape", []byte("x"), 0o600)) },
		"make a folder": func() string { return said(os.Mkdir("/tmp/atelier-escape", 0o700)) },
		"tcp":           func() string { return said(dials("tcp", "127.0.0.1:22")) },
		"udp":           func() string { return said(dials("udp", "127.0.0.1:53")) },
		"dns":           func() string { _, err := net.LookupHost("example.com"); return said(err) }, //nolint:noctx // a probe
		"raw socket":    func() string { _, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, 1); return said(err) },
		"unix socket":   func() string { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return said(err) },
		"netlink":       func() string { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return said(err) },
		"socket pair":   func() string { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return said(err) },
		"start a program": func() string {
			_, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
			return said(err)
		},
		"exec":              func() string { return said(syscall.Exec("/bin/true", []string{"true"}, nil)) },
		"fork":              func() string { return call(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0) },
		"signal the parent": func() string { return said(unix.Kill(os.Getppid(), 0)) },
		"signal by thread":  func() string { return said(unix.Tgkill(os.Getppid(), os.Getppid(), 0)) },
		"ptrace":            func() string { return said(unix.PtraceAttach(os.Getppid())) },
		"read memory": func() string {
			_, err := unix.ProcessVMReadv(os.Getppid(), []unix.Iovec{{}}, []unix.RemoteIovec{{}}, 0)
			return said(err)
		},
		"executable memory": func() string {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
			return said(err)
		},
		"make executable":      makesExecutable,
		"go before others":     func() string { return said(unix.Setpriority(unix.PRIO_PROCESS, 0, 0)) },
		"a class for yourself": func() string { return call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, 0) },
		"raise a limit": func() string {
			return said(unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 1000}, nil))
		},
		"mount":            func() string { return said(unix.Mount("none", "/", "tmpfs", 0, "")) },
		"unshare":          func() string { return said(unix.Unshare(unix.CLONE_NEWUSER)) },
		"become root":      func() string { return call(unix.SYS_SETUID, 0, 0, 0) },
		"bpf":              func() string { return call(unix.SYS_BPF, 0, 0, 0) },
		"io_uring":         func() string { return call(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
		"keyring":          func() string { return call(unix.SYS_KEYCTL, 0, 0, 0) },
		"perf":             func() string { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
		"userfaultfd":      func() string { return call(unix.SYS_USERFAULTFD, 0, 0, 0) },
		"memfd":            func() string { _, err := unix.MemfdCreate("x", 0); return said(err) },
		"control terminal": func() string { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) },
		"pipes":            func() string { var fds [2]int; return said(unix.Pipe2(fds[:], 0)) },
	}
}

func dials(network, address string) error {
	connection, err := net.DialTimeout(network, address, time.Second) //nolint:noctx // a probe
	if err == nil {
		_ = connection.Close()
	}
	return err
}

func call(number, a, b, c uintptr) string {
	result, _, errno := unix.RawSyscall(number, a, b, c)
	if errno == 0 {
		if number == unix.SYS_CLONE && result == 0 {
			unix.Exit(0) // the child of a fork that should not be
		}
		return "IT WORKED"
	}
	return errno.Error()
}

func makesExecutable() string {
	memory, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return "no memory: " + err.Error()
	}
	return said(unix.Mprotect(memory, unix.PROT_READ|unix.PROT_EXEC))
}
