//go:build !linux

package code

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// ownProgram is this program.
func ownProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", errors.New("this program does not know where it is")
	}
	return path, nil
}

// spent takes what passes for what is worked.
func (*process) spent(now time.Time) time.Duration { return time.Duration(now.UnixNano()) }

// halt does nothing where it may not be possible: the process works beside the others.
func (*process) halt() {}

// resume has nothing to undo.
func (*process) resume() {}

// keepFiles has nothing to do: children get only what they are given, but for what this process has itself got.
func keepFiles() {}

// attributes are those that every process has here.
func attributes(bool) *syscall.SysProcAttr { return nil }
