// Package webhooks_test receives webhooks of a server with the library of the specification, from npm, and looks what arrives
// when the server is killed in the middle of it.
package webhooks_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/test/internal/server"
)

const limit = 5 * time.Minute

// TestNode is a receiver in JavaScript; the checks are in receiver.test.mjs.
func TestNode(t *testing.T) {
	t.Parallel()
	node, err := findNode()
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("TEST_WEBHOOKS") != "" {
			t.Fatalf("webhooks: %v", err)
		}
		t.Skipf("SKIPPED: webhooks: %v", err)
	}
	started := apptest.Start(t, clock.System{}, "DATA_DIR="+t.TempDir(), "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := exec.CommandContext(ctx, node, "--test-reporter=spec", "receiver.test.mjs")
	checks.Env = append(os.Environ(), "WEBHOOKS_SERVER="+started.URL, "WEBHOOKS_EMAIL="+apptest.AdminEmail, "WEBHOOKS_PASSWORD="+apptest.AdminPassword, "NO_COLOR=1")
	output, err := checks.CombinedOutput()
	if err != nil {
		t.Fatalf("the checks failed: %v\n%s", err, output)
	}
	t.Logf("\n%s", output)
}

// findNode looks for what scripts/npm test/webhooks provides.
func findNode() (string, error) {
	node, err1 := exec.LookPath("node")
	_, err2 := os.Stat(filepath.Join("node_modules", "standardwebhooks"))
	if err := cmp.Or(err1, err2); err != nil {
		return "", fmt.Errorf("run scripts/npm test/webhooks first: %w", err)
	}
	return node, nil
}

// A server that dies between sending a delivery and recording it sends it again after a restart, as the same message; one that
// dies right after recording it does not. On PostgreSQL another instance may live on, so that what the dead one held is taken up
// when its lease has ended.
func TestKilledDuringDelivery(t *testing.T) {
	t.Parallel()
	program, err := server.Build(t.Context(), t.TempDir(), false, "failpoint")
	if err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]func(t *testing.T) []string{
		"sqlite":     func(*testing.T) []string { return nil },
		"postgresql": func(t *testing.T) []string { t.Helper(); return []string{"DATABASE_URL=" + sqldbtest.PostgresURL(t)} },
	} {
		for point, want := range map[string]int{"webhooks.sent": 2, "webhooks.recorded": 1} {
			t.Run(name+"/"+point, func(t *testing.T) {
				t.Parallel()
				killed(t, newHouse(t, program, settings(t)...), point, want)
			})
		}
	}
}

// killed has a server die at a point of its first delivery, starts it again, and counts how often the delivery arrives.
func killed(t *testing.T, h *house, point string, want int) {
	t.Helper()
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("webhook-id") + " " + string(body)
	}))
	t.Cleanup(receiver.Close)
	h.start(point)
	h.signIn()
	workspace := h.call(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Killed"})["id"].(string)
	path := "/v2/workspaces/" + workspace
	made := h.call(http.MethodPost, path+"/subscriptions", map[string]any{"url": receiver.URL, "types": []string{"order.paid"}})["id"].(string)
	h.send(http.MethodPost, path+"/events", map[string]any{"events": []any{map[string]any{"type": "order.paid", "payload": map[string]any{}}}})
	first := h.next(got)
	if _, err := h.process.Wait(h.ctx); err != nil {
		t.Fatal(err)
	}
	h.start("")
	h.signIn()
	for h.call(http.MethodGet, path+"/subscriptions/"+made, nil)["lastDelivery"] == nil {
		h.pause()
	}
	h.send(http.MethodPost, path+"/events", map[string]any{"events": []any{map[string]any{"type": "order.paid", "payload": "marker"}}})
	requests := 1
	for next := h.next(got); !strings.Contains(next, `"marker"`); next = h.next(got) {
		if requests++; next != first {
			t.Errorf("it was sent as %s and as %s", first, next)
		}
	}
	if requests != want {
		t.Errorf("it was sent %d times, want %d", requests, want)
	}
}

// next takes what arrives next.
func (h *house) next(got <-chan string) (text string) {
	h.t.Helper()
	select {
	case text = <-got:
	case <-h.ctx.Done():
		h.t.Fatal("nothing arrives")
	}
	return text
}

// house is the program with its data directory.
type house struct {
	t       *testing.T
	ctx     context.Context
	program string
	dir     string
	port    string
	token   string
	process *server.Process
	// settings are what is different about it.
	settings []string
}

func newHouse(t *testing.T, program string, settings ...string) *house {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	port, err := server.FreePort(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, ctx: ctx, program: program, dir: filepath.Join(t.TempDir(), "data"), port: port, settings: settings}
	t.Cleanup(func() {
		if h.process != nil {
			h.process.Kill()
		}
	})
	return h
}

// start runs the program, to die at a point when that is not empty.
func (h *house) start(point string) {
	h.t.Helper()
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + h.port, "ADMIN_EMAIL=" + apptest.AdminEmail, "ADMIN_PASSWORD=" + apptest.AdminPassword,
		"EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "WEBHOOKS_TIMEOUT=5s", "FAILPOINT=" + point,
	}, h.settings...)
	var err error
	if h.process, err = server.Start(cmd); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.process.WaitReady(h.ctx, "http://127.0.0.1:"+h.port); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) signIn() {
	h.t.Helper()
	h.token = h.call(http.MethodPost, "/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword})["token"].(string)
}

// call sends a request that has to succeed, and gives the object it answers with.
func (h *house) call(method, path string, body any) (answer map[string]any) {
	h.t.Helper()
	if err := json.Unmarshal(h.send(method, path, body), &answer); err != nil {
		h.t.Fatal(err)
	}
	return answer
}

func (h *house) send(method, path string, body any) []byte {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(h.ctx, method, "http://127.0.0.1:"+h.port+path, bytes.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		h.t.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, content, err)
	}
	return content
}

// pause waits a moment.
func (h *house) pause() {
	h.t.Helper()
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done():
		h.t.Fatal("it took too long")
	}
}
