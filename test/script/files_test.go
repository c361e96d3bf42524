package script_test

import (
	"net"
	"os"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

func capture(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "capture NAME REGEXP FILE")
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	match := pattern.FindStringSubmatch(ts.ReadFile(args[2]))
	if len(match) != 2 {
		ts.Fatalf("%s is not in %s, or has no group:\n%s", args[1], args[2], ts.ReadFile(args[2]))
	}
	ts.Setenv(args[0], match[1])
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "flip FILE")
	text := []byte(ts.ReadFile(args[0]))
	text[len(text)/2] ^= 0xff
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

func occupy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "occupy PORT")
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", args[0]))
	ts.Check(err)
	w := worldOf(ts)
	w.cleanup = append(w.cleanup, func() { _ = listener.Close() })
}
