package spawn_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/code/spawn"
)

// What this test is when it is started by itself.
const (
	nursery = "nursery"
	echo    = "echo"
	files   = "files"
	house   = "house"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case nursery:
			os.Exit(spawn.Serve())
		case echo:
			_, _ = io.Copy(os.Stdout, os.Stdin)
			os.Exit(0)
		case files:
			os.Exit(sockets())
		case house:
			os.Exit(live())
		}
	}
	goleak.VerifyTestMain(m)
}

// sockets says which sockets the process has.
func sockets() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 1
	}
	for _, file := range all {
		if target, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			_, _ = fmt.Fprintln(os.Stdout, file.Name())
		}
	}
	return 0
}

// live starts a process, stops it, and says which processes there are, until it is killed.
func live() int {
	n := spawn.NewNursery(order(nursery))
	in, _, err := os.Pipe()
	if err != nil {
		return 1
	}
	child, err := n.Start(order(echo), in, os.Stderr)
	if err != nil || child.Signal(syscall.SIGSTOP) != nil {
		return 1
	}
	_, _ = fmt.Fprintln(os.Stdout, parent(child.Pid), child.Pid)
	select {}
}

func order(as string) spawn.Order { return spawn.Order{Args: []string{"atelier", as}} }

// parent gives the process that has started one.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	id, _ := strconv.Atoi(fields[1])
	return id
}

// started is a process and the ends of its pipes that are ours.
type started struct {
	*spawn.Child
	in  *os.File
	out *bufio.Reader
}

func start(t *testing.T, n *spawn.Nursery, o spawn.Order) *started {
	t.Helper()
	childIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	child, err := n.Start(o, childIn, childOut)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = childIn.Close(), childOut.Close()
	t.Cleanup(func() { _, _, _ = in.Close(), out.Close(), child.Kill() })
	return &started{Child: child, in: in, out: bufio.NewReader(out)}
}

// answers tells that a process does what it is for.
func (s *started) answers(t *testing.T) {
	t.Helper()
	if _, err := s.in.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := s.out.ReadString('\n'); line != "hello\n" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
}

// A process is started by another one, can be spoken to, killed and waited for, and ends with the one that started it: the next one is
// started by a new one. At the end there is none.
func TestNurseryStartsProcesses(t *testing.T) {
	t.Parallel()
	n := spawn.NewNursery(order(nursery))
	defer n.Close()
	first, second := start(t, n, order(echo)), start(t, n, order(echo))
	first.answers(t)
	second.answers(t)
	nurse := parent(first.Pid)
	if nurse == os.Getpid() || nurse != parent(second.Pid) {
		t.Fatalf("started by %d and %d, this is %d", nurse, parent(second.Pid), os.Getpid())
	}
	var ended sync.WaitGroup
	ended.Go(first.Wait)
	for id := first.Pid; first.Kill() == nil; { // as often as it is wanted, whoever waits
		if first.Pid != id {
			t.Fatal("it is another one")
		}
	}
	ended.Wait()
	if err := syscall.Kill(nurse, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second.Wait()
	third := start(t, n, order(echo))
	third.answers(t)
	last := parent(third.Pid)
	if last == nurse || last == os.Getpid() {
		t.Fatalf("started by %d", last)
	}
	n.Close()
	spawn.Await(last)
	if _, err := n.Start(order(echo), os.Stdin, os.Stdout); err == nil {
		t.Error("it starts processes after its end")
	}
	third.Wait()
}

// What cannot be started is told, and the next one can. A process gets nothing but its pipes.
func TestNurserySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	n := spawn.NewNursery(order(nursery))
	defer n.Close()
	missing := spawn.Order{Path: "/nonexistent", Args: []string{"x"}}
	if _, err := n.Start(missing, os.Stdin, os.Stdout); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a program that is not there: %v", err)
	}
	process := start(t, n, order(files))
	if said, err := io.ReadAll(process.out); len(said) > 0 || err != nil {
		t.Errorf("it has sockets: %s %v", said, err)
	}
	process.Wait()
}

// Without a program that could do it processes are children.
func TestWithoutNursery(t *testing.T) {
	t.Parallel()
	n := spawn.NewNursery(spawn.Order{})
	defer n.Close()
	process := start(t, n, order(echo))
	process.answers(t)
	if parent(process.Pid) != os.Getpid() {
		t.Errorf("started by %d", parent(process.Pid))
	}
	_ = process.in.Close()
	process.Wait()
}

// When the server is killed nothing is left, not even a process that is stopped.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	out, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.StartProcess("/proc/self/exe", []string{"atelier", house}, &os.ProcAttr{Files: []*os.File{os.Stdin, said, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	var nurse, child int
	if _, err := fmt.Fscan(out, &nurse, &child); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = server.Wait()
	_, _ = said.Close(), out.Close()
	spawn.Await(nurse)
	spawn.Await(child)
}
