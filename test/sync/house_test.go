// Package sync_test runs random sequences of edits, pushes, pulls, conflicts and kills against the real program and a real git
// server, and holds every outcome against a model.
package sync_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"atelier/internal/gitcmd/gittest"
	"atelier/test/internal/server"
)

// house is the program with its data directory, whose process comes and goes, beside a git server that stays.
type house struct {
	t       *testing.T
	url     string
	dir     string
	log     string
	program string
	env     []string
	git     *gittest.Server
	client  *http.Client

	mu      sync.RWMutex // held for writing while the process is down
	process *server.Process
	token   string
}

const (
	email    = "admin@example.test"
	password = "correct horse battery staple"
)

func newHouse(t *testing.T) *house {
	t.Helper()
	program, err := server.Build(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	port, err := server.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	git := gittest.HTTPS(t)
	h := &house{
		t: t, url: "http://127.0.0.1:" + port, dir: filepath.Join(t.TempDir(), "data"), log: filepath.Join(t.TempDir(), "log"), program: program, git: git,
		client: &http.Client{Timeout: 2 * time.Minute},
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + port, "ADMIN_EMAIL=" + email, "ADMIN_PASSWORD=" + password,
			"EXTRA_CA_CERTS=" + git.CAFile, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "WORKSPACES_DRIFT_INTERVAL=0s",
		},
	}
	h.start()
	t.Cleanup(func() {
		h.process.Kill()
		h.client.CloseIdleConnections()
	})
	var answer struct{ Token string }
	if status, err := h.call(t.Context(), http.MethodPost, "/v2/login", map[string]string{"email": email, "password": password}, &answer); err != nil || status != http.StatusOK {
		t.Fatalf("sign in: %d %v", status, err)
	}
	h.token = answer.Token
	return h
}

func (h *house) start() {
	h.t.Helper()
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, log, log
	if h.process, err = server.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	if _, err := h.process.WaitReady(ctx, h.url); err != nil {
		text, _ := os.ReadFile(h.log)
		h.t.Fatalf("%v\n%s", err, text)
	}
}

// restart kills the process without asking and starts it again.
func (h *house) restart() {
	h.process.Kill()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client.CloseIdleConnections()
	h.start()
}

// errUnknown says that the process was killed under a request: nobody knows what became of it.
var errUnknown = errors.New("the process was killed")

// call sends a request and decodes its answer, whatever the status is. After errUnknown the process is up again.
func (h *house) call(ctx context.Context, method, path string, body, into any) (int, error) {
	status, err := h.send(ctx, method, path, body, into)
	if err != nil {
		h.mu.RLock() // wait for the next process
		defer h.mu.RUnlock()
		return 0, errors.Join(errUnknown, err)
	}
	return status, nil
}

func (h *house) send(ctx context.Context, method, path string, body, into any) (int, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	if into != nil && len(text) > 0 {
		err = json.Unmarshal(text, into)
	}
	return answer.StatusCode, err
}

func number(t *testing.T, variable string, preset int) int {
	t.Helper()
	given := os.Getenv(variable)
	if given == "" {
		return preset
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// wait lets something run for a while: the moment of a kill is the test.
func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
