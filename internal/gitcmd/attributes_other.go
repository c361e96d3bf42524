//go:build !linux

package gitcmd

import "syscall"

// attributes give a command a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
