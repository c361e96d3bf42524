package e2e_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/app/apptest"
)

// follow opens a stream of orders and gives the lines that say something.
func follow(t *testing.T, c *apptest.Client, workspaceID string) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/v2/workspaces/"+workspaceID+"/events?types=order.paid,order.sent", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.Token)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := transport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %v %v", answer, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	lines, begun := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(answer.Body)
		for first := true; scanner.Scan(); {
			if first && strings.HasPrefix(scanner.Text(), "id: ") {
				first = false
				close(begun)
			}
			if strings.HasPrefix(scanner.Text(), "data: ") {
				lines <- scanner.Text()
			}
		}
	}()
	<-begun
	return lines
}

// plug opens a WebSocket and subscribes to orders.
func plug(t *testing.T, c *apptest.Client, workspaceID string) *websocket.Conn {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	conn, _, err := websocket.Dial(t.Context(), c.URL+"/v2/workspaces/"+workspaceID+"/events", &websocket.DialOptions{ //nolint:bodyclose // it is the socket
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + c.Token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"type":"subscribe","filters":{"types":["order.paid","order.sent"]}}`)); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, conn); !strings.Contains(got, `"subscribed"`) {
		t.Fatal(got)
	}
	return conn
}

func hear(t *testing.T, conn *websocket.Conn) string {
	t.Helper()
	_, text, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Events come live, as server-sent events and over a WebSocket, whichever process has them; and a session that has ended, or
// a server that stops, ends both.
func TestLiveFeeds(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin, other := it.Admin(), it.Admin()
		id := newWorkspace(t, admin, "Live")
		lines, socket := follow(t, admin, id), plug(t, admin, id)
		stays, staying := follow(t, other, id), plug(t, other, id)
		at := "/v2/workspaces/" + id + "/events"
		admin.Post(at, map[string]any{"events": []any{map[string]any{"type": "order.paid", "payload": map[string]any{}}}}).Want(http.StatusOK)
		if err := socket.Write(t.Context(), websocket.MessageText, []byte(`{"id":2,"type":"emit","events":[{"type":"order.sent","payload":{}}]}`)); err != nil {
			t.Fatal(err)
		}
		for _, eventType := range []string{"order.paid", "order.sent"} {
			if line := <-lines; !strings.Contains(line, eventType) {
				t.Errorf("want %s, got %s", eventType, line)
			}
			if line := <-stays; !strings.Contains(line, eventType) {
				t.Errorf("want %s, got %s", eventType, line)
			}
			if got := hear(t, staying); !strings.Contains(got, eventType) {
				t.Errorf("want %s, got %s", eventType, got)
			}
		}
		admin.Post("/v2/logout", nil).Want(http.StatusNoContent)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for err := error(nil); err == nil; {
			_, _, err = socket.Read(ctx)
		}
		for range lines { // until it has ended
		}
		if ctx.Err() != nil {
			t.Error("a session that has ended goes on")
		}
		other.Get("/v2/me").Want(http.StatusOK)
		begun := time.Now()
		it.Stop()
		for range stays {
		}
		if _, _, err := staying.Read(ctx); err == nil {
			t.Error("a socket outlives its server")
		}
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("the server took %s to stop", took)
		}
	})
}
