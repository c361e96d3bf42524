package failpoint_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"atelier/internal/failpoint/failpointtest"
)

// An armed program dies by SIGKILL at the point it was asked for, and nowhere else; an ordinary one never does.
func TestKill(t *testing.T) {
	t.Parallel()
	armed, ordinary := build(t, "failpoint"), build(t, "")
	for _, test := range []struct {
		program, at, passed string
		killed              bool
	}{
		{armed, "victim.first", "", true},
		{armed, "victim.first#1", "", true},
		{armed, "victim.second", "one\n", true},
		{armed, "victim.second#2", "one\ntwo\n", true},
		{armed, "victim.second#3", "one\ntwo\nthree\n", false},
		{armed, "victim", "one\ntwo\nthree\n", false},
		{armed, "", "one\ntwo\nthree\n", false},
		{ordinary, "victim.first", "one\ntwo\nthree\n", false},
	} {
		victim := exec.CommandContext(t.Context(), test.program) //nolint:forbidigo // a process of its own, to be killed
		victim.Env = append(victim.Environ(), "FAILPOINT="+test.at)
		out, err := victim.Output()
		if string(out) != test.passed || killed(err) != test.killed || !test.killed && err != nil {
			t.Errorf("%s: passed %q, %v", test.at, out, err)
		}
	}
}

func TestBadCount(t *testing.T) {
	t.Parallel()
	victim := exec.CommandContext(t.Context(), build(t, "failpoint")) //nolint:forbidigo // a process of its own
	victim.Env = append(victim.Environ(), "FAILPOINT=victim.first#zero")
	if out, err := victim.CombinedOutput(); err == nil || !strings.Contains(string(out), "counts from 1") {
		t.Errorf("a count that is no number went unnoticed: %v %s", err, out)
	}
}

func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func build(t *testing.T, tags string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "victim")
	compiler := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", program, "./testdata/victim") //nolint:forbidigo // the compiler
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestPoints(t *testing.T) {
	t.Parallel()
	found := failpointtest.Points(t, "testdata", "")
	if !slices.Equal(found, []string{"victim.first", "victim.second"}) {
		t.Errorf("%q", found)
	}
	if found := failpointtest.Points(t, "testdata", "victim.s"); !slices.Equal(found, []string{"victim.second"}) {
		t.Errorf("%q", found)
	}
}
