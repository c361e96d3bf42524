// Package spawn starts worker processes.
package spawn

import (
	"os"
	"syscall"
)

// Order is a process that is to be started.
type Order struct {
	// Path is the file of the program, this program's own when it is empty; Args is what it is called by, and its arguments.
	Path string
	Args []string
	// Isolated puts it into namespaces of its own.
	Isolated bool
}

// Child is a process that was started.
type Child struct {
	*os.Process
	foster bool // another process is its parent
}

// Direct starts a process as a child of this one. It has no environment, and its errors go nowhere.
func Direct(o Order, in, out *os.File) (*Child, error) {
	return o.start(in, out, attributes(o.Isolated))
}

func (o Order) start(in, out *os.File, attr *syscall.SysProcAttr) (*Child, error) {
	path, err := o.Path, error(nil)
	if path == "" {
		if path, err = ownProgram(); err != nil {
			return nil, err
		}
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = nowhere.Close() }()
	process := &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{in, out, nowhere}, Sys: attr}
	started, err := os.StartProcess(path, o.Args, process) //nolint:gosec // a program of this installation, or what it is told to by that
	if err != nil {
		return nil, err
	}
	return &Child{Process: started}, nil
}

// Wait waits until the process has ended. How it ended does not matter.
func (c *Child) Wait() {
	if c.foster {
		await(c.Process)
		return
	}
	_, _ = c.Process.Wait()
}
