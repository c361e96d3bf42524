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

// Direct starts a process as a child of this one.
func Direct(o Order, in, out *os.File) (*Child, error) {
	started, err := o.start([]*os.File{in, out, nil}, attributes(o.Isolated))
	if err != nil {
		return nil, err
	}
	return &Child{Process: started}, nil
}

// start starts a process without an environment. Files are what it gets; nil is one in which nothing is and nothing stays.
func (o Order) start(files []*os.File, attr *syscall.SysProcAttr) (*os.Process, error) {
	path, err := o.Path, error(nil)
	if path == "" {
		if path, err = ownProgram(); err != nil {
			return nil, err
		}
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = nowhere.Close() }()
	for i, file := range files {
		if file == nil {
			files[i] = nowhere
		}
	}
	process := &os.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: attr}
	return os.StartProcess(path, o.Args, process) //nolint:gosec // a program of this installation, or what it is told to by that
}

// Wait waits until the process has ended. How it ended does not matter.
func (c *Child) Wait() {
	if c.foster {
		await(c.Process)
		return
	}
	_, _ = c.Process.Wait()
}
