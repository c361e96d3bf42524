//go:build linux && (amd64 || arm64)

package worker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where a filter finds what it looks at: the number of a call, the kind of processor, and the low half of an argument.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16
)

func argument(n uint32) uint32 { return atFirst + 8*n }

// allowed are the calls that a program in Go cannot live without. Everything else fails: opening anything, sockets, starting
// programs and processes, looking into others or signalling them.
func allowed() []uintptr {
	return append([]uintptr{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT,
		unix.SYS_FUTEX, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2,
	}, allowedHere()...)
}

// filterCalls lets the kernel refuse, for all threads and for good, what is not allowed.
func filterCalls() error {
	program := filter(uint32(unix.Getpid()))                                                                                                    //nolint:gosec // ids of processes are positive
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}                                                                      //nolint:gosec // it has a few hundred steps
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))) //nolint:gosec // how the kernel is given a struct
	if errno != 0 {
		return errno
	}
	return nil
}

// filter is the program that decides about each call.
func filter(self uint32) []unix.SockFilter {
	const permit = unix.SECCOMP_RET_ALLOW
	const deny = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	var p program
	p.load(atArch)
	p.unless(unix.BPF_JEQ, arch, unix.SECCOMP_RET_KILL_PROCESS) // numbers of another processor mean other calls
	p.load(atNumber)
	for _, number := range allowed() {
		p.when(unix.BPF_JEQ, uint32(number), permit)
	}
	p.on(unix.SYS_CLONE3, func() { p.end(uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)) }) // it is asked for in the old way then
	p.on(unix.SYS_CLONE, func() {                                                                 // threads, and no process
		p.load(argument(0))
		p.unless(unix.BPF_JSET, unix.CLONE_THREAD, deny)
		p.end(permit)
	})
	p.on(unix.SYS_TGKILL, func() { // itself only
		p.load(argument(0))
		p.unless(unix.BPF_JEQ, self, deny)
		p.end(permit)
	})
	p.on(unix.SYS_PRCTL, func() { // names for memory
		p.load(argument(0))
		p.unless(unix.BPF_JEQ, unix.PR_SET_VMA, deny)
		p.end(permit)
	})
	p.on(unix.SYS_SETPRIORITY, func() { // to step back behind the others, and nothing else
		p.load(argument(2))
		p.unless(unix.BPF_JEQ, lowest, deny)
		p.end(permit)
	})
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} { // memory that is not executed
		p.on(number, func() {
			p.load(argument(2))
			p.when(unix.BPF_JSET, unix.PROT_EXEC, deny)
			p.end(permit)
		})
	}
	p.end(deny)
	return p.steps
}

// program is a filter that is being written.
type program struct{ steps []unix.SockFilter }

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	p.steps = append(p.steps, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

func (p *program) end(verdict uint32) { p.add(unix.BPF_RET|unix.BPF_K, verdict, 0, 0) }

// when ends with a verdict if what was loaded compares so.
func (p *program) when(compare uint16, k, verdict uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, k, 0, 1)
	p.end(verdict)
}

// unless ends with a verdict if what was loaded does not compare so.
func (p *program) unless(compare uint16, k, verdict uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, k, 1, 0)
	p.end(verdict)
}

// on writes what decides about one call.
func (p *program) on(number uint32, decide func()) {
	at := len(p.steps)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 0)
	decide()
	p.steps[at].Jf = uint8(len(p.steps) - at - 1) //nolint:gosec // what decides has a few steps
}
