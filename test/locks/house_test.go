// Package locks_test runs several processes of the real program on one database, kills them without asking, and holds what
// everybody saw of the lock of a workspace against a model of one lock.
package locks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/test/internal/server"
)

// build makes the program once for all tests.
var build = sync.OnceValues(func() (string, error) { return server.Build(context.Background(), builds, false) })

// builds is removed after the tests.
var builds string

func TestMain(m *testing.M) {
	var err error
	if builds, err = os.MkdirTemp("", "atelier-locks-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(builds)
		os.Exit(code)
	}))
}

const (
	processes = 3
	email     = "admin@example.test"
	password  = "correct horse battery staple"
	// recoveredWithin is how soon an operation whose process is gone is in nobody's way any more: its lease, the pause between
	// two looks for such operations, and room for a machine that has much to do.
	recoveredWithin = 20 * time.Second
)

// house is an installation of several processes on one database; each of them comes and goes.
type house struct {
	t       *testing.T
	program string
	env     []string
	db      *sqldb.DB
	client  *http.Client
	places  []*place
	// token is the administrator's.
	token string
}

// place is where a process runs: its port and its data stay when it does not.
type place struct {
	url, port, dir, log string
	process             *server.Process
}

func newHouse(t *testing.T, settings ...string) *house {
	t.Helper()
	address := sqldbtest.PostgresURL(t)
	h := &house{t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: takers}, Timeout: time.Minute}}
	t.Cleanup(h.client.CloseIdleConnections)
	var err error
	if h.program, err = build(); err != nil {
		t.Fatal(err)
	}
	if h.db, err = postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.db.Close() })
	for range processes {
		port, err := server.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		h.places = append(h.places, &place{url: "http://127.0.0.1:" + port, port: port, dir: filepath.Join(dir, "data"), log: filepath.Join(dir, "log")})
	}
	h.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "DATABASE_URL=" + address, "DATABASE_MAX_CONNS=10", "API_URL=" + h.places[0].url + "/v2",
		"INTERNAL_API_KEY=an-internal-key-of-the-lock-test-0123456789", "SECRETS_MASTER_KEYS=k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
		"ADMIN_EMAIL=" + email, "ADMIN_PASSWORD=" + password, "DISABLE_RATE_LIMIT=yes", "CONCURRENT_REQUESTS=1000", "OVERWRITE_CORRELATION_ID_HEADER=no", "WORKSPACES_DRIFT_INTERVAL=0s",
	}, settings...)
	t.Cleanup(h.end)
	for _, p := range h.places {
		if err := h.start(p); err != nil {
			t.Fatal(err)
		}
	}
	var answer struct{ Token string }
	h.must(http.MethodPost, "/v2/login", map[string]string{"email": email, "password": password}, &answer)
	h.token = answer.Token
	return h
}

func (h *house) end() {
	for i, p := range h.places {
		if p.process != nil {
			p.process.Kill()
		}
		if text, err := os.ReadFile(p.log); err == nil && h.t.Failed() {
			h.t.Logf("process %d:\n%s", i, text)
		}
	}
}

// start runs the program at a place until it is ready.
func (h *house) start(p *place) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.program, "serve", "--port", p.port, "--data-dir", p.dir)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, log, log
	if p.process, err = server.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	_, err = p.process.WaitReady(ctx, p.url)
	return err
}

// restart kills the process at a place without asking, and starts it again.
func (h *house) restart(p *place) {
	p.process.Kill()
	if err := h.start(p); err != nil {
		h.t.Errorf("port %s: %v", p.port, err)
	}
}

// must sends a request to the first process that has to succeed.
func (h *house) must(method, path string, body, into any) {
	h.t.Helper()
	got := h.call(h.places[0], request{method: method, path: path, body: body})
	if got.err != nil || got.status >= http.StatusMultipleChoices {
		h.t.Fatalf("%s %s: %s", method, path, got)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		h.t.Fatal(err)
	}
}

// answer is what came of a request.
type answer struct {
	status int
	body   []byte
	err    error
}

func (a answer) String() string { return fmt.Sprintf("%d %v %s", a.status, a.err, a.body) }

// unknown tells that the process was killed under the request: it may have been done, or not.
func (a answer) unknown() bool { return a.err != nil && !a.unsent() }

// unsent tells that nobody was there to take the request, or that whoever was had no room for it.
func (a answer) unsent() bool {
	return errors.Is(a.err, syscall.ECONNREFUSED) || a.err == nil && (a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests && !a.tooMany())
}

// tooMany tells that there are as many of something as there may be.
func (a answer) tooMany() bool { return bytes.Contains(a.body, []byte("quota_exceeded")) }

// into decodes an answer.
func (a answer) into(v any) error { return errors.Join(a.err, json.Unmarshal(a.body, v)) }

// request is what is sent: as the administrator unless it has an API key.
type request struct {
	method, path string
	body         any
	archive      []byte // in place of a body
	id, apiKey   string
}

// call sends a request to a process.
func (h *house) call(to *place, r request) answer {
	content, kind := r.archive, "application/zip"
	if content == nil {
		kind = "application/json"
		var err error
		if content, err = json.Marshal(r.body); err != nil {
			return answer{err: err}
		}
	}
	if r.body == nil && r.archive == nil {
		content = nil
	}
	sent, err := http.NewRequestWithContext(h.t.Context(), r.method, to.url+r.path, bytes.NewReader(content))
	if err != nil {
		return answer{err: err}
	}
	sent.Header.Set("Content-Type", kind)
	if r.id != "" {
		sent.Header.Set("X-Correlation-Id", r.id)
	}
	if r.apiKey != "" {
		sent.Header.Set("X-Svc-Api-Key", r.apiKey)
	} else if h.token != "" {
		sent.Header.Set("Authorization", "Bearer "+h.token)
	}
	got, err := h.client.Do(sent)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	return answer{status: got.StatusCode, body: text, err: err}
}

// number is how much of something the test does.
func number(t *testing.T, variable string, preset int) int {
	t.Helper()
	given := os.Getenv(variable)
	if given == "" {
		return preset
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number of at least 1", variable, given)
	}
	return n
}

// wait lets the others run for a while: the moment of a kill is the test.
func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
