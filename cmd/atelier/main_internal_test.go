package main

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"
)

// execute runs the program without a process; the stories in test/script run the real one.
func execute(ctx context.Context, environ []string, args ...string) (code int, out, failures string) {
	var stdout, stderr bytes.Buffer
	code = run(ctx, args, process{out: &stdout, err: &stderr, environ: environ})
	return code, stdout.String(), stderr.String()
}

// Being told to stop before the start is through is no failure.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, failures := execute(ctx, nil, "serve", "--data-dir", t.TempDir())
	if code != exitOK || out != "" || failures != "" {
		t.Errorf("code %d, %q, %q", code, out, failures)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, cmd := range rootCommand(process{}).Commands() {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Args == nil {
			t.Errorf("%s: it has no short text, one with a full stop, or takes any arguments", cmd.Name())
		}
	}
}

// The first of two equal names counts, as it does for settings.
func TestLookup(t *testing.T) {
	t.Parallel()
	environ := []string{"OTEL_A=1", "OTEL_A=2", "OTEL_AB=3", "EMPTY="}
	for name, want := range map[string]string{"OTEL_A": "1", "OTEL_AB": "3", "EMPTY": "", "NONE": ""} {
		if got := lookup(environ, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// Variables of one workspace are never those of another, and the first of two counts.
func TestBegin(t *testing.T) {
	t.Parallel()
	environ := []string{"WORKSPACE_SECRET_a_x=1", "WORKSPACE_SECRET_a_x=2", "WORKSPACE_SECRET_a_y=b=c", "WORKSPACE_SECRET_ab_x=3", "WORKSPACE_SECRET_a-b_x=4", "OTHER=5"}
	if got := begin(environ, "WORKSPACE_SECRET_a_"); !maps.Equal(got, map[string]string{"x": "1", "y": "b=c"}) {
		t.Error(got)
	}
}
