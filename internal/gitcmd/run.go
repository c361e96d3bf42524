package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	// maxStderr is how much of git's complaints is kept.
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
	if command.err != nil {
		return fmt.Errorf("%s: %w", command, command.err)
	}
	if repository == "" {
		repository = nowhere
	}
	process := exec.CommandContext(ctx, g.path, command.arguments()...) //nolint:gosec // words are literals, values come after --
	process.Dir = "/"                                                   // never a folder whose files could mean something to git
	// The repository is named, not found: git neither climbs to a parent folder nor asks who owns it.
	process.Env = slices.Concat(g.environment, []string{"GIT_DIR=" + repository})
	complaints := &head{left: maxStderr}
	process.Stdin, process.Stdout, process.Stderr = in, out, complaints
	endTogether(process)
	err := process.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", command, ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Command: command.String(), Code: exit.ExitCode(), Stderr: complaints.printable()}
	}
	return fmt.Errorf("%s: %w", command, err)
}

// endTogether puts git and its helpers (ssh, pack programs) into one group and ends them all.
func endTogether(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	process.WaitDelay = killDelay
}

// head keeps the beginning of what is written and swallows the rest.
type head struct {
	text strings.Builder
	left int
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	kept := p[:min(len(p), h.left)]
	h.left -= len(kept)
	h.text.Write(kept)
	return len(p), nil
}

// printable is the text on one line, without what a remote server could do to a terminal.
func (h *head) printable() string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(h.text.String(), "?")))
}
