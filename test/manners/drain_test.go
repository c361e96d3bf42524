package manners_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A server that is told to stop finishes what it has begun, says that it is not ready, and takes nothing new.
func TestDrain(t *testing.T) {
	t.Parallel()
	d, clk := startAt(t, "DRAIN_DELAY=5s")
	d.anyone(t).Get("/readyz").Want(http.StatusOK)
	conn := dial(t, d)
	from := bufio.NewReader(conn)
	const body = `{"name":"Last one"}`
	_, _ = io.WriteString(conn, "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+d.token+
		"\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n"+body[:5])
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.Stop()
	}()
	eventually(t, "not ready", func() bool {
		got, err := d.anyone(t).Try(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && got.Status == http.StatusServiceUnavailable && strings.Contains(string(got.Body), "stopping")
	})
	d.anyone(t).Get("/").Want(http.StatusOK) // still serving while load balancers notice
	eventually(t, "no new connections", func() bool {
		clk.Advance(5e9)
		_, err := d.anyone(t).Try(t.Context(), http.MethodGet, "/", nil)
		return err != nil
	})
	_, _ = io.WriteString(conn, body[5:])
	if got := receive(t, from); got.StatusCode != http.StatusCreated || !got.Close {
		t.Errorf("the request under way was answered %d: %s", got.StatusCode, got.Text)
	}
	<-stopped
}
