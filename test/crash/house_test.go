package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"atelier/test/internal/server"
)

// house is the program with its data directory; its process comes and goes.
type house struct {
	url     string
	dir     string
	program string
	token   string
	client  *http.Client
	process *server.Process
	env     []string
	log     string
}

const (
	adminEmail    = "admin@example.test"
	adminPassword = "correct horse battery staple"
)

// build makes the program as it is shipped, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	return server.Build(context.Background(), builds, false)
})

// builds is removed after the tests.
var builds string

func TestMain(m *testing.M) {
	var err error
	if builds, err = os.MkdirTemp("", "atelier-crash-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(builds)
	os.Exit(code)
}

// newHouse gives the program an empty directory.
func newHouse(t *testing.T) *house {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return newHouseOf(t, program)
}

// newHouseOf gives a program that was built in another way an empty directory.
func newHouseOf(t *testing.T, program string) *house {
	t.Helper()
	port, err := server.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{
		url: "http://127.0.0.1:" + port, dir: filepath.Join(t.TempDir(), "data"), log: filepath.Join(t.TempDir(), "log"), program: program,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * writers}, Timeout: time.Minute},
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + port, "ADMIN_EMAIL=" + adminEmail, "ADMIN_PASSWORD=" + adminPassword,
		},
	}
	t.Cleanup(func() {
		if h.process != nil {
			h.process.Kill()
		}
		h.client.CloseIdleConnections()
	})
	return h
}

// start runs the program and tells how long it took until it was ready.
func (h *house) start(t *testing.T) time.Duration {
	t.Helper()
	took, err := h.launch(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, h.logs(t))
	}
	return took
}

// launch runs the program. An error tells that it ended before it was ready.
func (h *house) launch(t *testing.T) (time.Duration, error) {
	t.Helper()
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.program, "serve", "--data-dir", h.dir)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, log, log
	if h.process, err = server.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return h.process.WaitReady(ctx, h.url)
}

// logs is what the process has said.
func (h *house) logs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(h.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kill ends the process without asking. Connections to it are of no use any more.
func (h *house) kill() {
	h.process.Kill()
	h.client.CloseIdleConnections()
}

func (h *house) signIn(t *testing.T) {
	t.Helper()
	var answer struct{ Token string }
	body := map[string]string{"email": adminEmail, "password": adminPassword}
	if status, err := h.call(t.Context(), http.MethodPost, "/v2/login", "", body, &answer); err != nil || status != http.StatusOK {
		t.Fatalf("sign in: status %d, error %v", status, err)
	}
	h.token = answer.Token
}

// call sends a request, with an Idempotency-Key unless that is empty, and decodes its answer. An error means that nobody
// knows what became of it.
func (h *house) call(ctx context.Context, method, path, key string, body, into any) (int, error) {
	var text io.Reader
	if body != nil {
		content, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		text = bytes.NewReader(content)
	}
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, text)
	if err != nil {
		return 0, err
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
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		err = json.Unmarshal(content, into)
	} else if failure, ok := into.(*refusal); ok {
		err = json.Unmarshal(content, failure)
	}
	return answer.StatusCode, err
}
