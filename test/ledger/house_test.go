package ledger_test

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

// limit is how long all of it may take.
const limit = time.Hour

// house is the program with its data directory; its process comes and goes.
type house struct {
	t       *testing.T
	ctx     context.Context
	program string
	dir     string
	port    string
	token   string
	client  *http.Client
	process *server.Process
}

func newHouse(t *testing.T) *house {
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
	h := &house{
		t: t, ctx: ctx, program: program, dir: filepath.Join(t.TempDir(), "data"), port: port,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * writers}},
	}
	t.Cleanup(func() {
		if h.process != nil {
			h.process.Kill()
		}
		h.client.CloseIdleConnections()
	})
	return h
}

func (h *house) start() {
	h.t.Helper()
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + h.port, "ADMIN_EMAIL=" + apptest.AdminEmail, "ADMIN_PASSWORD=" + apptest.AdminPassword,
		"EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "DISABLE_RATE_LIMIT=true",
	}
	var err error
	if h.process, err = server.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.process.WaitReady(h.ctx, h.url()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) kill() {
	h.process.Kill()
	h.client.CloseIdleConnections()
}

func (h *house) url() string { return "http://127.0.0.1:" + h.port }

func (h *house) signIn() {
	h.t.Helper()
	var answer struct{ Token string }
	h.must(http.MethodPost, "/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword}, &answer)
	h.token = answer.Token
}

// must sends a request that has to succeed.
func (h *house) must(method, path string, body, into any) {
	h.t.Helper()
	if status, err := h.call(method, path, "", body, into); err != nil || status >= http.StatusMultipleChoices {
		h.t.Fatalf("%s %s: %d %v", method, path, status, err)
	}
}

// call sends a request, with an Idempotency-Key unless that is empty. An error means that nobody knows what became of it.
func (h *house) call(method, path, key string, body, into any) (int, error) {
	r, err := h.request(method, path, body)
	if err != nil {
		return 0, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return answer.StatusCode, nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return 0, fmt.Errorf("%s: %w", content, err)
	}
	return answer.StatusCode, nil
}

func (h *house) request(method, path string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(h.ctx, method, h.url()+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	return r, nil
}

// pause waits a moment for somebody else's work.
func (h *house) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done():
		h.t.Error("it took too long")
	}
}

// room is a workspace with a subscription to some of its events.
type room struct {
	id     string
	path   string // of its webhooks
	secret string
}

func (h *house) openRooms(e *endpoint, count int) []*room {
	h.t.Helper()
	list := make([]*room, count)
	for i := range list {
		var made struct{ ID string }
		h.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Room"}, &made)
		r := &room{id: made.ID, path: fmt.Sprintf("/%d", i)}
		var subscription struct{ Secrets []string }
		h.must(http.MethodPost, "/v2/workspaces/"+r.id+"/subscriptions", map[string]any{"url": e.url + r.path, "types": []string{hookType}}, &subscription)
		r.secret, list[i] = subscription.Secrets[0], r
	}
	return list
}
