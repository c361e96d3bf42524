package rotation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/sqldb/sqldbtest"
	"atelier/test/internal/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an installation of several gateways on one database. The first one's address is the public one.
type house struct {
	program  string
	database string
	env      []string
	urls     []string
	client   *http.Client
}

// newHouse starts the gateways, each of which runs the runtime too, so that both kinds of events are seen.
func newHouse(t *testing.T, gateways int) *house {
	t.Helper()
	h := &house{database: sqldbtest.PostgresURL(t)}
	var err error
	if h.program, err = server.Build(t.Context(), t.TempDir(), false); err != nil {
		t.Fatal(err)
	}
	h.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}
	t.Cleanup(h.client.CloseIdleConnections)
	var ports []string
	for range gateways {
		port, err := server.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ports, h.urls = append(ports, port), append(h.urls, "http://127.0.0.1:"+port)
	}
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "TARGET=gateway,runtime", "DATABASE_URL=" + h.database, "DATABASE_MAX_CONNS=10",
		"API_URL=" + h.urls[0] + "/v2", "INTERNAL_API_KEY=an-internal-key-of-the-soak-test-0123456789", "ADMIN_PASSWORD=correct horse battery staple",
		"JWKS_ROTATION_DAYS=2s", "ACCESS_TOKENS_MAX_AGE=60", "DISABLE_RATE_LIMIT=yes",
	}
	for _, port := range ports {
		h.start(t, port)
	}
	return h
}

func (h *house) start(t *testing.T, port string) {
	t.Helper()
	logged := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(logged)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.program, "serve", "--port", port, "--data-dir", filepath.Join(t.TempDir(), "data"))
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, log, log
	process, err := server.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if text, err := os.ReadFile(logged); err == nil && t.Failed() {
			t.Logf("gateway on port %s:\n%s", port, text)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := process.WaitReady(ctx, "http://127.0.0.1:"+port); err != nil {
		t.Fatal(err)
	}
}

// key is a line of what the command lists.
type key struct{ KID, State string }

// keys runs the command on the same database, as an operator does.
func (h *house) keys(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, h.program, append([]string{"keys"}, append(args, "--json")...)...)
	cmd.Env = h.env
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("keys %v: %w: %s", args, err, problems.String())
	}
	return json.Unmarshal(out, into)
}

// signIn gets a visitor's token from a gateway.
func (h *house) signIn(ctx context.Context, url string) (string, error) {
	var answer struct{ Token string }
	status, err := h.call(ctx, http.MethodPost, url+"/v2/login/anonymous", "", &answer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("sign in: status %d", status)
	}
	return answer.Token, err
}

// me asks a gateway who holds a token, and gives the status and the error code.
func (h *house) me(ctx context.Context, url, token string) (status int, code string, err error) {
	var answer struct{ Error string }
	status, err = h.call(ctx, http.MethodGet, url+"/v2/me", token, &answer)
	return status, answer.Error, err
}

func (h *house) call(ctx context.Context, method, url, token string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, json.Unmarshal(body, into)
}
