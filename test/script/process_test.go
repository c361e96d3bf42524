package script_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"atelier/test/internal/server"
)

// running is a server of a story.
type running struct {
	process  *server.Process
	out, err string // files with its output
}

// environment is that of the story. testscript tells one variable at a time, a program is told all of them.
func environment(ts *testscript.TestScript) []string {
	ts.Check(ts.Exec("env", "-0"))
	return strings.FieldsFunc(ts.ReadFile("stdout"), func(r rune) bool { return r == 0 })
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "start NAME [ARGUMENT...]")
	name := args[0]
	s := &running{out: ts.MkAbs(name + ".out"), err: ts.MkAbs(name + ".err")}
	cmd := exec.Command(worldOf(ts).program, append([]string{"serve"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	out, err := os.Create(s.out)
	ts.Check(err)
	failures, err := os.Create(s.err)
	ts.Check(err)
	defer func() { _, _ = out.Close(), failures.Close() }()
	cmd.Stdout, cmd.Stderr = out, failures
	s.process, err = server.Start(cmd)
	ts.Check(err)
	worldOf(ts).servers[name] = s
}

// named finds a server of the story.
func named(ts *testscript.TestScript, name string) *running {
	s, ok := worldOf(ts).servers[name]
	if !ok {
		ts.Fatalf("there is no server %q", name)
	}
	return s
}

func waitReady(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && (len(args) == 1 || len(args) == 2), "waitready NAME [URL]")
	url := ts.Getenv("URL")
	if len(args) == 2 {
		url = args[1]
	}
	s := named(ts, args[0])
	ctx, cancel := patiently()
	defer cancel()
	if _, err := s.process.WaitReady(ctx, url); err != nil {
		ts.Fatalf("%v\n%s%s", err, ts.ReadFile(s.out), ts.ReadFile(s.err))
	}
	// Ready is said before the terminal is told: what a person reads there is part of the story.
	for !strings.Contains(ts.ReadFile(s.out), " is ready: ") {
		ts.Check(ctx.Err())
	}
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "signal NAME TERM|INT|KILL")
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	ts.Check(named(ts, args[0]).process.Signal(signals[args[1]]))
}

func waitExit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "waitexit NAME CODE")
	s := named(ts, args[0])
	ctx, cancel := patiently()
	defer cancel()
	code, err := s.process.Wait(ctx)
	ts.Check(err)
	_, _ = ts.Stdout().Write([]byte(ts.ReadFile(s.out)))
	_, _ = ts.Stderr().Write([]byte(ts.ReadFile(s.err)))
	if strconv.Itoa(code) != args[1] {
		ts.Fatalf("it ended with code %d, want %s\n%s", code, args[1], ts.ReadFile(s.err))
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) >= 2, "exits CODE PROGRAM [ARGUMENT...]")
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("it ended with code %d, want %s", code, args[0])
	}
}
