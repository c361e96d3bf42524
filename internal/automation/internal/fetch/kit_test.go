package fetch_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func guard(t *testing.T) *egress.Guard {
	t.Helper()
	made, err := egress.New(egress.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// client makes a client that reaches this machine.
func client(t *testing.T, change func(*fetch.Deps)) *fetch.Client {
	t.Helper()
	deps := fetch.Deps{Network: guard(t), Clock: clock.System{}, UserAgent: "Atelier", MaxRetries: 3, Timeout: time.Minute}
	if change != nil {
		change(&deps)
	}
	made := fetch.New(deps)
	t.Cleanup(made.Close)
	return made
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

// parse makes a value of JSON.
func parse(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v.(*value.Object)
}

// with is an object with one more key.
func with(o *value.Object, key string, v any) *value.Object {
	o.Set(key, v)
	return o
}

func written(v any) string {
	text, _ := value.JSON(v, "", 1<<30)
	return text
}

// naps records how long a client slept, and does not.
type naps struct {
	mu  sync.Mutex
	all []time.Duration
}

func (n *naps) sleep(d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, d)
	return nil
}

func wantFailure(t *testing.T, err error, name, message string) {
	t.Helper()
	var failure *machine.Failure
	if !errors.As(err, &failure) {
		t.Errorf("the error is %v, want %s %q", err, name, message)
		return
	}
	if failure.Name != name || message != "" && failure.Message != message {
		t.Errorf("the failure is %s %q, want %s %q", failure.Name, failure.Message, name, message)
	}
}

type contextT = context.Context

func serveTLS(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // handshakes fail here, as they should
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
