package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Nursery is a small process that starts others for a large one. To start a process in namespaces of its own a copy of this one has to
// be made first, of the table of all its memory: that takes milliseconds in which this process can hardly work. The copy of a small
// process costs nothing.
//
// One caller at a time speaks with it. It is started with the first order, and again when it has ended. What it has started ends with it.
type Nursery struct {
	program Order
	turn    chan struct{} // held by who speaks with it
	line    *net.UnixConn
	process *os.Process
	closed  bool
}

// NewNursery makes one of a program that calls Serve. Nothing is started yet.
func NewNursery(program Order) *Nursery {
	return &Nursery{program: program, turn: make(chan struct{}, 1)}
}

// answer is what came of an order.
type answer struct {
	PID   int    `json:"pid"`
	Error string `json:"error"`
}

const mostOrder = 8 << 10

var (
	errClosed = errors.New("no more processes are started")
	errLost   = errors.New("the process that starts others has ended")
)

// Start has a process started. Where the system does not know handles of processes it is a child of this one.
func (n *Nursery) Start(o Order, in, out *os.File) (*Child, error) {
	if len(n.program.Args) == 0 || !handles() {
		return Direct(o, in, out)
	}
	n.turn <- struct{}{}
	defer func() { <-n.turn }()
	if n.closed {
		return nil, errClosed
	}
	child, err := n.order(o, in, out)
	if errors.Is(err, errLost) { // somebody has killed it: the next one serves as well
		child, err = n.order(o, in, out)
	}
	return child, err
}

// Close ends it, and all that it has started.
func (n *Nursery) Close() {
	n.turn <- struct{}{}
	defer func() { <-n.turn }()
	n.closed = true
	n.end()
}

func (n *Nursery) end() {
	if n.line == nil {
		return
	}
	_ = n.line.Close() // it ends when nobody speaks with it any more
	_, _ = n.process.Wait()
	n.line, n.process = nil, nil
}

// order sends an order and waits for the answer. It is kept from being forgotten by the system until this process knows it.
func (n *Nursery) order(o Order, in, out *os.File) (*Child, error) {
	if err := n.begin(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var said answer
	if err := n.ask(text, in, out, &said); err != nil {
		n.end()
		return nil, errors.Join(errLost, err)
	}
	if said.Error != "" {
		return nil, errors.New(said.Error)
	}
	found, err := os.FindProcess(said.PID)
	if err == nil {
		err = found.WithHandle(func(uintptr) {})
	}
	if _, told := n.line.Write([]byte{0}); told != nil || err != nil {
		n.end()
		return nil, errors.Join(errLost, err, told)
	}
	return &Child{Process: found, foster: true}, nil
}

func (n *Nursery) ask(text []byte, in, out *os.File, said *answer) error {
	files := syscall.UnixRights(int(in.Fd()), int(out.Fd())) //nolint:gosec // files have small numbers
	if _, _, err := n.line.WriteMsgUnix(text, files, nil); err != nil {
		return err
	}
	buffer := make([]byte, mostOrder)
	size, err := n.line.Read(buffer)
	if err != nil {
		return err
	}
	return json.Unmarshal(buffer[:size], said)
}

// begin starts the process if there is none.
func (n *Nursery) begin() error {
	if n.line != nil {
		return nil
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	here, there := os.NewFile(uintptr(ends[0]), "nursery"), os.NewFile(uintptr(ends[1]), "nursery")
	defer func() { _, _ = here.Close(), there.Close() }()
	line, err := unixConn(here)
	if err != nil {
		return err
	}
	files := []*os.File{lineFile: there}
	if n.process, err = n.program.start(files, &syscall.SysProcAttr{Setpgid: true}); err != nil {
		return errors.Join(err, line.Close())
	}
	n.line = line
	return nil
}

func unixConn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	line, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a %T is no line to another process", conn), conn.Close())
	}
	return line, nil
}

// handles tells whether the system has handles of processes: then one that is no child can be waited for, and never be taken for
// another one.
func handles() bool {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return false
	}
	defer func() { _ = self.Release() }()
	return self.WithHandle(func(uintptr) {}) == nil
}

// await waits until a process has ended that is no child. Its handle is closed when nobody knows the process any more: somebody may
// want to kill it at this moment.
func await(p *os.Process) {
	_ = p.WithHandle(func(handle uintptr) { // it was there when the process was found
		for {
			ready := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}} //nolint:gosec // files have small numbers
			if _, err := unix.Poll(ready, -1); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
}
