package code_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/codetest"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
)

// halted tells whether a process is stopped.
func halted(t *testing.T, process int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return false // it has ended
	}
	return strings.HasPrefix(string(text)[strings.LastIndexByte(string(text), ')')+1:], " T")
}

// Code that works for long takes turns with everything else that heavy workspaces do, and does not work while it waits for one. Code
// that only waits uses nothing.
func TestLongCallsTakeTurns(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	shares := turns.New(clock.System{}, turns.Settings{Processors: 2})
	c := started(t, code.Deps{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, Limits: code.Limits{Time: time.Minute}, Program: program(), Turns: shares})
	defined := functions("work()", "for (let i = 0; i < 5e6; i++); return 'done'", "wait(ms)", "await new Promise(r => setTimeout(r, ms)); return 'done'", "short()", "return 'done'")
	run := func(workspace, function string) (any, error) {
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: workspace, Functions: defined, Function: function, Parameters: object(t, `{"ms": 300}`)})
		return answer.Result, err
	}
	if got, err := run("idle", "wait"); got != "done" || err != nil || shares.Of("idle").Heavy() {
		t.Fatalf("%v %v, heavy: %v", got, err, shares.Of("idle").Heavy())
	}
	if got, err := run("a", "work"); got != "done" || err != nil {
		t.Fatal(got, err)
	}
	process := c.Processes("a")[0]
	shares.Of("light").Begin(t.Context()).End()
	shares.Of("b").Used(time.Hour)
	shares.Of("a").Used(time.Hour)
	for _, function := range []string{"work", "short"} { // however short it is
		holder := shares.Of("b").Begin(t.Context())
		if !holder.Holds() {
			t.Fatal("there is no turn to wait for")
		}
		done := make(chan error, 1)
		go func() {
			_, err := run("a", function)
			done <- err
		}()
		until(t, "it is stopped", func() bool { return halted(t, process) })
		holder.End()
		if err := <-done; err != nil {
			t.Error(err)
		}
		until(t, "it goes on", func() bool { return !halted(t, process) })
	}
}
