// Package socketio_test listens to events with the client of socket.io from npm: in one process and in several, and while the
// server is restarted.
package socketio_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/test/internal/server"
)

const limit = 5 * time.Minute

// The checks are in client.test.mjs. Clients cannot tell how many processes there are.
func TestNode(t *testing.T) {
	t.Parallel()
	node := findNode(t)
	t.Run("one process", func(t *testing.T) {
		t.Parallel()
		run(t, node, "client.test.mjs", "SOCKETIO_SERVER="+apptest.New(t).URL)
	})
	t.Run("split", func(t *testing.T) {
		t.Parallel()
		run(t, node, "client.test.mjs", "SOCKETIO_SERVER="+split(t))
	})
}

// split starts every service as a process of its own would be, on one database.
func split(t *testing.T) string {
	t.Helper()
	database := "DATABASE_URL=" + sqldbtest.PostgresURL(t)
	front := apptest.Listen(t)
	public := "http://" + front.Addr().String()
	gateway := []string{"TARGET=gateway", database, "DATA_DIR=" + t.TempDir()}
	for _, service := range []string{"workspaces", "events", "runtime"} {
		behind := apptest.Start(t, clock.System{}, "TARGET="+service, "API_URL="+public+"/v2", "INTERNAL_API_URL="+public+"/v2", database, "DATA_DIR="+t.TempDir())
		gateway = append(gateway, strings.ToUpper(service)+"_API_URL="+behind.URL)
	}
	return apptest.StartOn(t, clock.System{}, front, gateway...).URL
}

// A client misses nothing and gets nothing twice while the server is stopped, killed and started again; the checks, which ask
// for it, are in restart.test.mjs.
func TestRestarts(t *testing.T) {
	t.Parallel()
	node := findNode(t)
	program, err := server.Build(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, program)
	h.start()
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		signal := syscall.SIGTERM
		if r.URL.Path == "/kill" {
			signal = syscall.SIGKILL
		}
		if err := h.process.Signal(signal); err != nil {
			t.Error(err)
		}
		if _, err := h.process.Wait(h.ctx); err != nil {
			t.Error(err)
		}
		h.start()
	}))
	t.Cleanup(control.Close)
	run(t, node, "restart.test.mjs", "SOCKETIO_SERVER=http://127.0.0.1:"+h.port, "SOCKETIO_CONTROL="+control.URL)
}

func run(t *testing.T, node, file string, environment ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := exec.CommandContext(ctx, node, "--test-timeout=120000", "--test-reporter=spec", file)
	checks.Env = append(os.Environ(), append(environment, "SOCKETIO_EMAIL="+apptest.AdminEmail, "SOCKETIO_PASSWORD="+apptest.AdminPassword, "NO_COLOR=1")...)
	output, err := checks.CombinedOutput()
	if err != nil {
		t.Fatalf("the checks failed: %v\n%s", err, output)
	}
	t.Logf("\n%s", output)
}

// findNode looks for what scripts/npm test/socketio provides.
func findNode(t *testing.T) string {
	t.Helper()
	node, err1 := exec.LookPath("node")
	_, err2 := os.Stat(filepath.Join("node_modules", "socket.io-client"))
	if err := cmp.Or(err1, err2); err != nil {
		err = fmt.Errorf("run scripts/npm test/socketio first: %w", err)
		if os.Getenv("CI") == "true" || os.Getenv("TEST_SOCKETIO") != "" {
			t.Fatalf("socket.io: %v", err)
		}
		t.Skipf("SKIPPED: socket.io: %v", err)
	}
	return node
}

// house is the program with its data directory.
type house struct {
	t       *testing.T
	ctx     context.Context
	program string
	dir     string
	port    string
	process *server.Process
}

func newHouse(t *testing.T, program string) *house {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	port, err := server.FreePort(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, ctx: ctx, program: program, dir: filepath.Join(t.TempDir(), "data"), port: port}
	t.Cleanup(func() {
		if h.process != nil {
			h.process.Kill()
		}
	})
	return h
}

func (h *house) start() {
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + h.port, "ADMIN_EMAIL=" + apptest.AdminEmail, "ADMIN_PASSWORD=" + apptest.AdminPassword,
		"RATE_LIMIT_SEARCH_EVENTS=1000000", "RATE_LIMIT_USER=1000000", "RATE_LIMIT_ADDRESS=1000000",
	}
	process, err := server.Start(cmd)
	if err != nil {
		h.t.Error(err)
		return
	}
	h.process = process
	if _, err := h.process.WaitReady(h.ctx, "http://127.0.0.1:"+h.port); err != nil {
		h.t.Error(err)
	}
}
