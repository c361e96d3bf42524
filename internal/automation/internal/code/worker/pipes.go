//go:build unix

package worker

import (
	"errors"
	"io"
	"syscall"
)

// Standard are the pipes of a process: its input and its output.
func Standard() Pipes { return Pipes{In: descriptor(0), Out: descriptor(1)} }

// descriptor is a file that is read and written by blocking calls.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(d), p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (d descriptor) Write(p []byte) (written int, err error) {
	for written < len(p) {
		n, err := syscall.Write(int(d), p[written:])
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return written, err
		}
		written += max(n, 0)
	}
	return written, nil
}
