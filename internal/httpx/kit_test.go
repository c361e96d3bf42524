package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/httpx"
	"atelier/internal/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a handler behind a Front on a real listener.
type server struct {
	url  string
	logs *logs
	http *http.Client
	t    *testing.T
}

// serve starts a handler behind a Front; change adapts the Front's configuration and may be nil.
func serve(t *testing.T, handler http.HandlerFunc, change func(*httpx.FrontConfig)) *server {
	t.Helper()
	kept := &logs{}
	log := slog.New(slog.NewJSONHandler(kept, &slog.HandlerOptions{Level: slog.LevelDebug}))
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	cfg := httpx.FrontConfig{
		Log: log, Clock: clk, Timeout: 10 * time.Second,
		Versions: httpx.NewVersions(httpx.Generations(), httpx.Behaviours(), clk.Now),
	}
	if change != nil {
		change(&cfg)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, err := httpx.Listen(t.Context(), httpx.ServerConfig{
		Listener: listener, Handler: httpx.NewFront(cfg, handler), Log: log, NewID: ident.Source{}.UUID,
	})
	if err != nil {
		t.Fatal(err)
	}
	running.Start()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := running.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := <-running.Done(); err != nil {
			t.Errorf("served: %v", err)
		}
	})
	return &server{url: "http://" + running.Addr().String(), logs: kept, http: &http.Client{Transport: transport}, t: t}
}

// answer is a response, read whole.
type answer struct {
	*http.Response
	text string
}

// get reads a path; headers come in pairs.
func (s *server) get(path string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, nil, headers...)
}

func (s *server) do(method, path string, body io.Reader, headers ...string) answer {
	s.t.Helper()
	got, err := s.try(method, path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *server) try(method, path string, body io.Reader, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := s.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response, string(text)}, err
}

// code is the error code of a flat error.
func (a answer) code() string {
	var body struct{ Error string }
	_ = json.Unmarshal([]byte(a.text), &body)
	return body.Error
}

func (s *server) dial() net.Conn {
	s.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// with gives the lines that contain all the parts.
func (l *logs) with(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }

func shortTimeout(cfg *httpx.FrontConfig) { cfg.Timeout = 50 * time.Millisecond }
