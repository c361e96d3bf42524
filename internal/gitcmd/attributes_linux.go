package gitcmd

import "syscall"

// attributes give a command a group of its own. When we are killed, nobody would end it: the kernel does.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
