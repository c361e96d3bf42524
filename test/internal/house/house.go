// Package house runs the real program for tests whose server comes and goes: it is killed, and started again on the same data.
package house

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/test/internal/server"
)

// House is the program with its data directory.
type House struct {
	t        testing.TB
	ctx      context.Context //nolint:containedctx // that of the test
	program  string
	dir      string
	port     string
	token    string
	settings []string
	client   *http.Client
	process  *server.Process
}

// New builds the program. Settings are for every start of it.
func New(t testing.TB, limit time.Duration, settings ...string) *House {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	port, err := server.FreePort(ctx)
	if err != nil {
		t.Fatal(err)
	}
	program, err := server.Build(ctx, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	h := &House{
		t: t, ctx: ctx, program: program, dir: filepath.Join(t.TempDir(), "data"), port: port, settings: settings,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	t.Cleanup(func() {
		if h.process != nil {
			h.process.Kill()
		}
		h.client.CloseIdleConnections()
	})
	return h
}

// Start starts the program and waits until it is ready.
func (h *House) Start() {
	h.t.Helper()
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + h.port, "ADMIN_EMAIL=" + apptest.AdminEmail, "ADMIN_PASSWORD=" + apptest.AdminPassword,
		"DISABLE_RATE_LIMIT=true",
	}, h.settings...)
	var err error
	if h.process, err = server.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.process.WaitReady(h.ctx, h.url()); err != nil {
		h.t.Fatal(err)
	}
}

// Kill ends it as kill -9 does.
func (h *House) Kill() {
	h.process.Kill()
	h.client.CloseIdleConnections()
}

// SignIn makes the admin the caller.
func (h *House) SignIn() {
	h.t.Helper()
	var answer struct{ Token string }
	h.Must(http.MethodPost, "/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword}, &answer)
	h.token = answer.Token
}

func (h *House) url() string { return "http://127.0.0.1:" + h.port }

// Must sends a request that has to succeed.
func (h *House) Must(method, path string, body, into any) {
	h.t.Helper()
	if status, text, err := h.Call(method, path, "", body); err != nil || status >= http.StatusMultipleChoices {
		h.t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	} else if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			h.t.Fatalf("%s: %v", text, err)
		}
	}
}

// Call sends a request, with an Idempotency-Key unless that is empty. An error means that nobody knows what became of it.
func (h *House) Call(method, path, key string, body any) (status int, text []byte, err error) {
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequestWithContext(h.ctx, method, h.url()+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err = io.ReadAll(answer.Body); err != nil {
		return 0, nil, fmt.Errorf("the answer was cut: %w", err)
	}
	return answer.StatusCode, text, nil
}

// Pause waits a moment for somebody else's work, and tells whether the test still has time.
func (h *House) Pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}
