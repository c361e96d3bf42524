package code_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/codetest"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
)

// lowest is what a thread counts that is behind all others.
const lowest = 19

// niceness gives what the threads of a process count.
func niceness(t *testing.T, process int) (all []int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		const nice = 16 // after the name, which is in brackets
		fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		n, err := strconv.Atoi(fields[nice])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

func behind(all []int) (n int) {
	for _, one := range all {
		if one == lowest {
			n++
		}
	}
	return n
}

// Code that works for long gets what the others on the machine leave; the next call counts like every other.
func TestLongCallsStepBack(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	c := room(t, code.Limits{Time: time.Minute})
	defined := functions("work(until)", "while (Date.now() < until); return 'done'", "ok()", "return 'ok'")
	if _, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "ok"}); err != nil {
		t.Fatal(err)
	}
	process := c.Processes("a")[0]
	if all := niceness(t, process); len(all) == 0 || behind(all) != 0 {
		t.Fatalf("its threads count %v before it has worked", all)
	}
	until := float64(clock.System{}.Now().Add(3 * time.Second).UnixMilli())
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "work", Parameters: object(t, fmt.Sprintf(`{"until": %f}`, until))})
		done <- err
	}()
	for behind(niceness(t, process)) != 1 {
		select {
		case err := <-done:
			t.Fatalf("it never stepped back: %v", err)
		default:
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for behind(niceness(t, process)) != 0 { // the thread is gone in a moment
		if t.Context().Err() != nil {
			t.Fatal("the thread that was behind is still there")
		}
	}
}

// A workspace that uses much of the processors steps back from the first moment on.
func TestHeavyWorkspacesStepBack(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	shares := turns.New(clock.NewManual(time.Unix(0, 0)), turns.Settings{})
	shares.Of("heavy").Used(time.Hour)
	limits := code.Limits{Time: time.Minute}
	c := started(t, code.Deps{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, Limits: limits, Program: program(), Turns: shares})
	defined := functions("wait()", "await new Promise(done => setTimeout(done, 5)); return 'done'")
	for range 20 { // however short it is
		if answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "heavy", Functions: defined, Function: "wait"}); err != nil || answer.Result != "done" {
			t.Fatal(answer, err)
		}
	}
	seen := 0
	done := make(chan error, 1)
	go func() {
		for range 50 {
			if _, err := c.Run(t.Context(), code.Call{WorkspaceID: "heavy", Functions: defined, Function: "wait"}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for running := true; running; {
		select {
		case err := <-done:
			if running = false; err != nil {
				t.Fatal(err)
			}
		default:
			seen += behind(niceness(t, c.Processes("heavy")[0]))
		}
	}
	if seen == 0 {
		t.Error("no thread was ever behind")
	}
}
