// Package apptest starts whole servers for tests and talks to them the way clients do.
package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/app"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/ident"
)

// The super admin of every test server.
const (
	AdminEmail    = "admin@example.test"
	AdminPassword = "correct horse battery staple"
	InternalKey   = "an-internal-key-for-tests-only"
)

// Server is a running server.
type Server struct {
	// URL is its address, without /v2.
	URL string
	// Logs is what it logged so far.
	Logs *Logs
	// DataDir is its data directory.
	DataDir string
	// embedded tells that its database is there.
	embedded bool

	t     testing.TB
	stop  context.CancelFunc
	ended chan error
}

// New starts a server on embedded engines in a new directory, with settings such as "RATE_LIMIT_SVC_LOGIN=1" on top.
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	return Start(t, clock.System{}, append(slices.Clone(settings), "DATA_DIR="+t.TempDir())...)
}

// Start starts a server with exactly these settings, a port of its own and the test's super admin. It is stopped with the test.
func Start(t testing.TB, clk clock.Clock, settings ...string) *Server {
	t.Helper()
	return StartOn(t, clk, Listen(t), settings...)
}

// Listen takes a free port, for servers that must know each other's address before they start.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// StartOn is Start on a listener that was taken before.
func StartOn(t testing.TB, clk clock.Clock, listener net.Listener, settings ...string) *Server {
	t.Helper()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	loaded, err := config.Load(config.Sources{Targets: app.TargetNames(), ReadFile: os.ReadFile, Environ: append(slices.Clone(settings), // the first of two equal names counts
		"PORT="+port, "ADMIN_EMAIL="+AdminEmail, "ADMIN_PASSWORD="+AdminPassword, "INTERNAL_API_KEY="+InternalKey,
		"RATE_LIMIT_SVC_LOGIN=1000", "RATE_LIMIT_LOGIN_ADDRESS=1000", "RATE_LIMIT_ANONYMOUS_LOGIN=1000", "RATE_LIMIT_SIGNUP=1000",
		"RATE_LIMIT_PASSWORD_RESET=1000", "RATE_LIMIT_CONTACTS=100000", "RATE_LIMIT_SEARCH_EVENTS=100000", "RATE_LIMIT_CREATE_WORKSPACE=100000", "RATE_LIMIT_ADDRESS=100000", "RATE_LIMIT_USER=100000", "RATE_LIMIT_CREDENTIAL_FAILURES=100000",
		"RATE_LIMIT_CREDENTIAL_FAILURES_ADDRESS=100000",
	)})
	if err != nil {
		t.Fatal(err)
	}
	logs := &Logs{}
	running, err := app.Start(t.Context(), app.Options{
		Config: loaded.Config, Version: "test", Terminal: io.Discard, Clock: clk, IDs: ident.Source{}, Listener: listener,
		Log:    slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Lookup: func(string) string { return "" },
	})
	if err != nil {
		_ = listener.Close()
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{URL: "http://127.0.0.1:" + port, Logs: logs, DataDir: loaded.Config.DataDir, embedded: loaded.Config.DatabaseURL == "", t: t, stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- running.Wait(ctx) }()
	t.Cleanup(s.Stop)
	return s
}

// On is the same server for a part of the test, whose failures are its own.
func (s *Server) On(t testing.TB) *Server {
	own := *s
	own.t = t
	return &own
}

// Stop stops the server and fails the test when that was not clean. It may be called more than once.
func (s *Server) Stop() {
	s.t.Helper()
	s.stop()
	select {
	case err, ok := <-s.ended:
		if ok && err != nil {
			s.t.Errorf("the server did not stop cleanly: %v", err)
		}
		if ok {
			close(s.ended)
			s.checkEvents()
		}
	case <-time.After(time.Minute):
		s.t.Error("the server did not stop")
	}
}

// Client is a caller of a server.
type Client struct {
	URL    string
	Token  string
	Header http.Header

	t    testing.TB
	http *http.Client
}

// Anyone calls without a credential.
func (s *Server) Anyone() *Client { return NewClient(s.t, s.URL) }

// Admin calls as the super admin.
func (s *Server) Admin() *Client { return NewClient(s.t, s.URL).SignIn(AdminEmail, AdminPassword) }

// Visitor calls with an anonymous session.
func (s *Server) Visitor() *Client {
	s.t.Helper()
	c := NewClient(s.t, s.URL)
	c.Token = c.Post("/v2/login/anonymous", nil).Want(http.StatusOK).Text("token")
	return c
}

// NewClient calls a server at an address without a credential. Each client has connections of its own.
func NewClient(t testing.TB, url string) *Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{URL: url, Header: http.Header{}, t: t, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// SignIn returns a client with the account's token.
func (c *Client) SignIn(email, password string) *Client {
	c.t.Helper()
	signed := *c
	signed.Header = c.Header.Clone()
	signed.Token = c.Post("/v2/login", map[string]any{"email": email, "password": password}).Want(http.StatusOK).Text("token")
	return &signed
}

// With returns a client that also sends the header.
func (c *Client) With(name, value string) *Client {
	with := *c
	with.Header = c.Header.Clone()
	with.Header.Set(name, value)
	return &with
}

// Get reads.
func (c *Client) Get(path string) *Response { c.t.Helper(); return c.Do(http.MethodGet, path, nil) }

// Post sends a JSON body; nil sends none.
func (c *Client) Post(path string, body any) *Response {
	c.t.Helper()
	return c.Do(http.MethodPost, path, body)
}

// Patch sends a JSON body.
func (c *Client) Patch(path string, body any) *Response {
	c.t.Helper()
	return c.Do(http.MethodPatch, path, body)
}

// Put sends a JSON body.
func (c *Client) Put(path string, body any) *Response {
	c.t.Helper()
	return c.Do(http.MethodPut, path, body)
}

// Delete deletes.
func (c *Client) Delete(path string) *Response {
	c.t.Helper()
	return c.Do(http.MethodDelete, path, nil)
}

// Do sends a request. A body of type string or []byte is sent as it is; anything else as JSON.
func (c *Client) Do(method, path string, body any) *Response {
	c.t.Helper()
	response, err := c.Try(c.t.Context(), method, path, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

// Try sends a request and gives the error when the connection fails.
func (c *Client) Try(ctx context.Context, method, path string, body any) (*Response, error) {
	c.t.Helper()
	reader, hasBody := c.body(body)
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, reader)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, c.Header)
	if hasBody && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Body: text, t: c.t, what: method + " " + path}, nil
}

func (c *Client) body(body any) (io.Reader, bool) {
	c.t.Helper()
	switch body := body.(type) {
	case nil:
		return nil, false
	case string:
		return strings.NewReader(body), true
	case []byte:
		return bytes.NewReader(body), true
	default:
		text, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		return bytes.NewReader(text), true
	}
}
