package worker

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that only this processor has.
func allowedHere() []uintptr {
	return []uintptr{unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT, unix.SYS_TIME}
}
