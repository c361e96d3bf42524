//go:build !linux

package spawn

import (
	"errors"
	"os"
	"syscall"
)

// ownProgram is this program.
func ownProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", errors.New("this program does not know where it is")
	}
	return path, nil
}

// KeepFiles has nothing to do: children get only what they are given, but for what this process has itself got.
func KeepFiles() {}

// attributes are those that every process has here.
func attributes(bool) *syscall.SysProcAttr { return nil }
