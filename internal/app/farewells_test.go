package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
)

// apart starts every service as a process of its own would be, and gives the gateway.
func apart(t *testing.T, clk clock.Clock) *apptest.Server {
	t.Helper()
	database := "DATABASE_URL=" + sqldbtest.PostgresURL(t)
	front := apptest.Listen(t)
	public := "http://" + front.Addr().String()
	gateway := []string{"TARGET=gateway", database, "DATA_DIR=" + t.TempDir()}
	for _, service := range []string{"workspaces", "events", "runtime"} {
		behind := apptest.Start(t, clk, "TARGET="+service, "API_URL="+public+"/v2", "INTERNAL_API_URL="+public+"/v2", database, "DATA_DIR="+t.TempDir())
		gateway = append(gateway, strings.ToUpper(service)+"_API_URL="+behind.URL)
	}
	return apptest.StartOn(t, clk, front, gateway...)
}

// socket opens a WebSocket with a token, and gives what it says from the second message on, and the code it is closed with.
func socket(t *testing.T, url, token string) (ended func() (said string, code websocket.StatusCode)) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{ //nolint:bodyclose // the library has
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}, HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	if !strings.Contains(url, "/socket.io/") {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := conn.Read(t.Context()); err != nil { // then it is served
		t.Fatal(err)
	}
	return func() (said string, code websocket.StatusCode) {
		for {
			_, text, err := conn.Read(t.Context())
			if err != nil {
				return said, websocket.CloseStatus(err)
			}
			said += string(text) + "\n"
		}
	}
}

// Whoever listens is told why it gets no more, in one process and in several: when the session has ended, and when the gateway stops.
func TestFarewells(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, clk clock.Clock) *apptest.Server{
		"one process": func(t *testing.T, clk clock.Clock) *apptest.Server {
			t.Helper()
			return apptest.Start(t, clk, "DATA_DIR="+t.TempDir())
		},
		"split": apart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := &looking{Manual: clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), first: make(chan struct{})}
			server := start(t, clk)
			const feed, io = "/v2/workspaces/platform/events", "/socket.io/?EIO=4&transport=websocket"
			gone, stays := server.Admin(), server.Admin()
			goneStream, goneSocket, goneIO := stream(t, server.URL, gone.Token), socket(t, server.URL+feed, gone.Token), socket(t, server.URL+io, gone.Token)
			stream, plain, byIO := stream(t, server.URL, stays.Token), socket(t, server.URL+feed, stays.Token), socket(t, server.URL+io, stays.Token)
			gone.Post("/v2/logout", nil).Want(http.StatusNoContent)
			<-clk.first
			clk.Advance(5 * time.Second)
			if said := goneStream(); !strings.Contains(said, "\n\nevent: end\ndata: {\"error\":\"invalid_token\"") || !strings.HasSuffix(said, "}\n\n") {
				t.Errorf("a stream of a session that has ended: %q", said)
			}
			if said, code := goneSocket(); code != 4401 || !strings.HasSuffix(said, "\n") || !strings.HasPrefix(said, `{"type":"error","error":"invalid_token","message":`) {
				t.Errorf("a socket of a session that has ended: %d %q", code, said)
			}
			if _, code := goneIO(); code != websocket.StatusTryAgainLater {
				t.Errorf("a socket of socket.io of a session that has ended: %d", code)
			}
			server.Stop()
			if said := stream(); !strings.Contains(said, "event: end\ndata: {\"error\":\"service_unavailable\"") || !strings.HasSuffix(said, "}\n\n") {
				t.Errorf("a stream of a gateway that stops: %q", said)
			}
			if said, code := plain(); code != websocket.StatusServiceRestart || said != "" {
				t.Errorf("a socket of a gateway that stops: %d %q", code, said)
			}
			if _, code := byIO(); code != websocket.StatusServiceRestart {
				t.Errorf("a socket of socket.io of a gateway that stops: %d", code)
			}
		})
	}
}
