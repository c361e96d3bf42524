// Package server builds the real program and runs it for tests.
package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Version is what the built program says it is.
const Version = "1.2.3-test"

// Build compiles the program into dir and returns its path. With race it is built to find data races: slower, and it ends
// with another exit code when there was one. Tags choose what is built besides, such as failpoint for one that can be killed
// at a step.
func Build(ctx context.Context, dir string, race bool, tags ...string) (string, error) {
	path := filepath.Join(dir, strings.Join(append([]string{"atelier"}, tags...), "-"))
	args := []string{"build", "-o", path, "-ldflags", "-X main.version=" + Version, "-tags", strings.Join(tags, ",")}
	cgo := "CGO_ENABLED=0"
	if race {
		cgo = "CGO_ENABLED=1"
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "atelier/cmd/atelier")...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// The ports below those that the system gives to outgoing connections, and above those that services usually have.
const (
	lowestPort = 10000
	portCount  = 10000
)

var nextPort atomic.Int64 //nolint:gochecknoglobals // the tests of one process must not choose the same one

// FreePort is a port that nobody listens on, and that this process has not given away before.
func FreePort(ctx context.Context) (string, error) {
	nextPort.CompareAndSwap(0, 1+rand.Int64N(portCount))
	for range portCount {
		port := strconv.FormatInt(lowestPort+nextPort.Add(1)%portCount, 10)
		// Listening would tell more, but a process that is being started at this moment would keep the port for a while.
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return port, ctx.Err()
		}
		_ = conn.Close()
	}
	return "", fmt.Errorf("no free port from %d to %d", lowestPort, lowestPort+portCount)
}
