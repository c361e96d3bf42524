package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// Process is the program while it runs.
type Process struct {
	// Started is when it was started.
	Started time.Time

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start runs a command that was put together, and ends it with Kill at the latest.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Started: time.Now(), cmd: cmd, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // ProcessState tells how it ended
		close(p.ended)
	}()
	return p, nil
}

// pollEvery is the pause between two looks at something that is not there yet.
const pollEvery = 2 * time.Millisecond

// WaitReady waits until the server at the address says that it is ready, and tells how long that took since its start.
func (p *Process) WaitReady(ctx context.Context, url string) (time.Duration, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if isReady(ctx, client, url+"/readyz") {
			return time.Since(p.Started), nil
		}
		select {
		case <-p.ended:
			return 0, fmt.Errorf("the server ended with code %d before it was ready", p.cmd.ProcessState.ExitCode())
		case <-ctx.Done():
			return 0, fmt.Errorf("the server was not ready in time: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func isReady(ctx context.Context, client *http.Client, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// Wait waits for the end and gives the exit code, or -1 after a signal.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, errors.New("the process did not end in time")
	}
}

// Kill ends it without asking, as kill -9 does, and waits until it is gone. It may be called more than once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Signal sends a signal.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
