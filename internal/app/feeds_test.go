package app_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
)

// looking is a clock that tells that the callers of streams are about to be looked at.
type looking struct {
	*clock.Manual
	once  sync.Once
	first chan struct{}
}

func (c *looking) NewTimer(d time.Duration) clock.Timer {
	const short, look = 250 * time.Millisecond, 2500 * time.Millisecond
	if d <= short {
		return clock.System{}.NewTimer(d) // the log looks for events all the time
	}
	timer := c.Manual.NewTimer(d)
	if d == look {
		c.once.Do(func() { close(c.first) })
	}
	return timer
}

// stream opens a stream of events with a token, and gives what it says in the end.
func stream(t *testing.T, url, token string) (ended func() string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v2/workspaces/platform/events?sse=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := transport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %v %v", answer, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return func() string {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Errorf("the stream was cut: %v", err)
		}
		return string(text)
	}
}

// A credential that no longer counts ends the streams that were opened with it within five seconds, and no others.
func TestCredentialsOfStreams(t *testing.T) {
	t.Parallel()
	clk := &looking{Manual: clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), first: make(chan struct{})}
	server := apptest.Start(t, clk, "DATA_DIR="+t.TempDir())
	admin, other := server.Admin(), server.Admin()
	made := admin.Post("/v2/user/accessTokens", map[string]any{"name": "x", "expiresAt": "2026-12-01T00:00:00Z"}).Want(http.StatusCreated)
	signedOut, deleted, stays := stream(t, server.URL, other.Token), stream(t, server.URL, made.Text("token")), stream(t, server.URL, admin.Token)
	other.Post("/v2/logout", nil).Want(http.StatusNoContent)
	admin.Delete("/v2/user/accessTokens/" + made.Text("id")).Want(http.StatusOK)
	<-clk.first
	clk.Advance(5 * time.Second)
	for name, ended := range map[string]func() string{"a session": signedOut, "an access token": deleted} {
		if said := ended(); !strings.Contains(said, "event: end\ndata: {\"error\":\"invalid_token\"") {
			t.Errorf("%s: %q", name, said)
		}
	}
	server.Stop()
	if said := stays(); !strings.Contains(said, "service_unavailable") {
		t.Errorf("with a session that goes on: %q", said)
	}
}

// A page of another site cannot open a socket with the cookie that the browser adds.
func TestSocketsOfOtherSites(t *testing.T) {
	t.Parallel()
	server := apptest.New(t, "CORS_ADDITIONAL_ALLOWED_ORIGINS=https://console.example.test")
	token := server.Admin().Token
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"our page":          {http.Header{"Origin": {server.URL}}, http.StatusSwitchingProtocols},
		"a page we trust":   {http.Header{"Origin": {"https://console.example.test"}}, http.StatusSwitchingProtocols},
		"another site":      {http.Header{"Origin": {"https://evil.example.test"}}, http.StatusForbidden},
		"no site":           {http.Header{}, http.StatusForbidden},
		"a hidden site":     {http.Header{"Origin": {"null"}}, http.StatusForbidden},
		"a site that lies":  {http.Header{"Origin": {server.URL}, "Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"two sites":         {http.Header{"Origin": {server.URL, "https://evil.example.test"}}, http.StatusForbidden},
		"a token elsewhere": {http.Header{"Origin": {"https://evil.example.test"}, "Authorization": {"Bearer " + token}}, http.StatusSwitchingProtocols},
	} {
		c.header.Set("Cookie", "access-token="+token)
		transport := &http.Transport{}
		conn, answer, err := websocket.Dial(t.Context(), server.URL+"/v2/workspaces/platform/events", &websocket.DialOptions{ //nolint:bodyclose // the library has
			HTTPHeader: c.header, HTTPClient: &http.Client{Transport: transport},
		})
		if answer == nil || answer.StatusCode != c.want {
			t.Errorf("%s: %v %v", name, answer, err)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
		transport.CloseIdleConnections()
	}
}

// Live feeds take no places of requests: whoever listens as much as may be can still call.
func TestFeedsBesideRequests(t *testing.T) {
	t.Parallel()
	server := apptest.Start(t, clock.System{}, "DATA_DIR="+t.TempDir(), "CONCURRENT_REQUESTS=1", "CONCURRENT_STREAMS=3")
	admin := server.Admin()
	const path = "/v2/workspaces/platform/events"
	ended := []func() string{stream(t, server.URL, admin.Token), stream(t, server.URL, admin.Token)}
	conn, _, err := websocket.Dial(t.Context(), server.URL+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + admin.Token}}}) //nolint:bodyclose // the library has
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	admin.Get(path+"?sse=true").WantError(http.StatusTooManyRequests, "concurrent_request_limit")
	admin.Get("/v2/me").Want(http.StatusOK)
	admin.Get(path).Want(http.StatusOK)
	server.Stop()
	for _, end := range ended {
		end()
	}
}
