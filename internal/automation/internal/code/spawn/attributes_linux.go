package spawn

import (
	"os"
	"strconv"
	"syscall"
)

// nobody is the user that a worker is outside of its namespace when the server runs as root.
const nobody = 65534

// ownProgram is this program, also when its file was replaced by another version meanwhile.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// KeepFiles makes that no child gets a file of this process that it was not given. What Go opens is like that already; this is
// for what the process has itself got from who started it, as sockets and terminals.
func KeepFiles() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // without it there is nothing to look through
	}
	for _, file := range files {
		if fd, err := strconv.Atoi(file.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// attributes put a worker into a group of its own, so that a signal from a terminal does not reach it, and where it is allowed
// into namespaces of its own: no network, no other process to be seen, and no user that is known anywhere.
func attributes(isolated bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	user, group := os.Geteuid(), os.Getegid()
	root := user == 0
	if root {
		user, group = nobody, nobody
	}
	if !isolated {
		if root {
			attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		}
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	// Inside it is root at first, to give up the file system; outside it is nobody, or who started the server.
	attr.Credential = &syscall.Credential{NoSetGroups: !root}
	attr.GidMappingsEnableSetgroups = root
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: user, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: group, Size: 1}}
	return attr
}
