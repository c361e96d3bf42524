package gitcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// maxStderr is how much of git's complaints is kept: half of it from the beginning, half from the end.
	maxStderr = 8 << 10
	// killDelay is how long the pipes of a stopped process may stay open.
	killDelay = 5 * time.Second
)

// ExitError says that git ran and ended with a code other than zero. Some commands answer with one.
type ExitError struct {
	Command string
	Code    int // negative when a signal ended it
	Stderr  string
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s ended with code %d", e.Command, e.Code)
	}
	return fmt.Sprintf("%s ended with code %d: %s", e.Command, e.Code, e.Stderr)
}

// Run runs a command on a bare repository (none when repository is empty), with in and out, which may be nil, as its
// standard input and output. The process and all it started end with ctx. A code other than zero is an *ExitError.
func (g *Git) Run(ctx context.Context, repository string, command Command, in io.Reader, out io.Writer) error {
	return g.run(ctx, call{repository: repository, command: command, in: in, out: out})
}

// call is one run of git.
type call struct {
	repository string
	command    Command
	in         io.Reader
	out        io.Writer
	more       surroundings
}

func (g *Git) run(ctx context.Context, c call) error {
	p, err := g.prepare(ctx, c)
	if err != nil {
		return err
	}
	p.Stdout = c.out
	defer stayOnThread()()
	return p.result(p.Run())
}

// converse runs a command whose output decides what comes next. Without c.in, what talk writes is the input of the
// command. The command is ended when talk fails.
func (g *Git) converse(ctx context.Context, c call, talk func(in io.Writer, out *bufio.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := g.prepare(ctx, c)
	if err != nil {
		return err
	}
	in := io.WriteCloser(nobody{})
	if c.in == nil {
		if in, err = p.StdinPipe(); err != nil {
			return fmt.Errorf("%s: %w", c.command, err)
		}
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", c.command, err)
	}
	defer stayOnThread()()
	if err := p.Start(); err != nil {
		return p.result(err)
	}
	talkErr := talk(in, bufio.NewReader(out))
	_ = in.Close() // a command that is gone already closed it too
	if talkErr != nil && !errors.Is(talkErr, errSilence) {
		cancel(talkErr)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := p.result(p.Wait()); err != nil {
		return err
	}
	return talkErr
}

// stayOnThread keeps the thread that starts a process until the process has ended: with this thread, not with all of us,
// the kernel would end it.
func stayOnThread() (leave func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// errSilence is what a talk ends with when the command said less than it should: it is about to end, and says why.
var errSilence = errors.New("git said less than expected")

// nobody is the input of a command that has another.
type nobody struct{}

func (nobody) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (nobody) Close() error              { return nil }

// process is a git process with what is needed to say how it ended.
type process struct {
	*exec.Cmd
	ctx        context.Context // lives as long as the process
	command    Command
	complaints *excerpt
}

func (g *Git) prepare(ctx context.Context, c call) (*process, error) {
	if c.command.err != nil {
		return nil, fmt.Errorf("%s: %w", c.command, c.command.err)
	}
	if c.repository == "" {
		c.repository = nowhere
	}
	// The repository is named, not found: git neither climbs to a parent folder nor asks who owns it.
	around := g.usual.and(c.more).and(surroundings{variables: []string{"GIT_DIR=" + c.repository}})
	p := &process{
		Cmd:        exec.CommandContext(ctx, g.path, c.command.arguments()...), //nolint:gosec // words are literals, values come after --
		ctx:        ctx,
		command:    c.command,
		complaints: &excerpt{most: maxStderr / 2},
	}
	p.Dir = "/" // never a folder whose files could mean something to git
	p.Env = around.environment()
	p.Stdin, p.Stderr = c.in, p.complaints
	endTogether(p.Cmd)
	return p, nil
}

// endTogether puts git and its helpers (ssh, pack programs) into one group and ends them all.
func endTogether(command *exec.Cmd) {
	command.SysProcAttr = attributes()
	command.Cancel = func() error { return end(command) }
	command.WaitDelay = killDelay
}

func end(command *exec.Cmd) error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }

// result says how the process ended.
func (p *process) result(err error) error {
	if err == nil {
		return nil
	}
	if p.Process != nil {
		_ = end(p.Cmd) // what it started may not have noticed
	}
	if p.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.command, context.Cause(p.ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Command: p.command.String(), Code: exit.ExitCode(), Stderr: plain(p.complaints.String())}
	}
	return fmt.Errorf("%s: %w", p.command, err)
}

// excerpt keeps the beginning and the end of what is written: servers may say much before git says what went wrong.
type excerpt struct {
	most       int
	head, tail []byte
	lost       bool
}

// Write implements io.Writer.
func (e *excerpt) Write(p []byte) (int, error) {
	written := len(p)
	taken := min(len(p), e.most-len(e.head))
	e.head, p = append(e.head, p[:taken]...), p[taken:]
	e.tail = append(e.tail, p...)
	if over := len(e.tail) - e.most; over > 0 {
		e.tail, e.lost = append(e.tail[:0], e.tail[over:]...), true
	}
	return written, nil
}

// String is what was kept.
func (e *excerpt) String() string {
	if e.lost {
		return string(e.head) + "\n...\n" + string(e.tail)
	}
	return string(e.head) + string(e.tail)
}
