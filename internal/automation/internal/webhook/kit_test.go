package webhook_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/httpx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(clk clock.Clock) webhook.Options {
	return webhook.Options{Clock: clk, KeepAliveFloor: 5 * time.Second, Cookies: []string{"access-token", "_sessionv2"}}
}

// object reads JSON as a value.
func object(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// answered is what a client sees of a response, after controls and an output.
func answered(t *testing.T, output any, controls ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s := webhook.NewStream(w, options(clock.System{}))
	for _, control := range controls {
		if err := s.Set(t.Context(), object(t, control)); err != nil {
			t.Errorf("%s: %v", control, err)
		}
	}
	if err, failed := output.(error); failed {
		s.Fail(err)
	} else {
		s.Finish(output)
	}
	return w
}

// served is an endpoint on a real connection, behind everything that stands before it in the product.
type served struct {
	*http.Response

	t     *testing.T
	lines *bufio.Reader
}

// serve answers one request with do.
func serve(t *testing.T, clk clock.Clock, do func(ctx context.Context, s *webhook.Stream)) *served {
	t.Helper()
	handler, err := httpx.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		do(r.Context(), webhook.NewStream(w, options(clk)))
	}))
	if err != nil {
		t.Fatal(err)
	}
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	front := httpx.NewFront(httpx.FrontConfig{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: manual, Timeout: 30 * time.Second,
		Versions: httpx.NewVersions(httpx.Generations(), httpx.Behaviours(), manual.Now),
	}, handler)
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip, zstd")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &served{Response: response, t: t, lines: bufio.NewReader(response.Body)}
}

// event is the next event of a stream; empty at its end.
func (s *served) event() string {
	s.t.Helper()
	line, err := s.lines.ReadString('\n')
	if err == io.EOF && line == "" {
		return ""
	}
	blank, _ := s.lines.ReadString('\n')
	if err != nil || blank != "\n" {
		s.t.Fatalf("%q, %q, %v", line, blank, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// watched is a clock that tells when somebody begins to wait.
type watched struct {
	*clock.Manual

	waits chan time.Duration
}

func newWatched() watched {
	return watched{clock.NewManual(time.Unix(0, 0)), make(chan time.Duration, 100)}
}

// NewTimer tells of the timer.
func (w watched) NewTimer(d time.Duration) clock.Timer {
	timer := w.Manual.NewTimer(d)
	w.waits <- d
	return timer
}

var _ machine.Sink = (*webhook.Stream)(nil)
