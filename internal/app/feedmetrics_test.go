package app_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
)

// The metrics tell how many listen to events, and the internal key shows at which instances.
func TestFiguresOfFeeds(t *testing.T) {
	t.Parallel()
	server := apptest.Start(t, clock.System{}, "DATA_DIR="+t.TempDir())
	token := server.Admin().Token
	streams := []func() string{stream(t, server.URL, token), stream(t, server.URL, token)}
	operator := server.Anyone().With("X-Svc-Api-Key", apptest.InternalKey)
	for operator.Get("/sys/subscriptions").Want(http.StatusOK).Text("subscribers") != "2" {
		runtime.Gosched() // one listens a moment after its stream has begun
	}
	said := server.Anyone().With("Authorization", "Bearer "+apptest.InternalKey).Get("/metrics").Want(http.StatusOK).Body
	for _, line := range []string{
		"subscriptions_total 2", "subscriptions_workspaces_total 1", "socket_io_connected 0", "socket_io_connect_total 0", "socket_io_disconnect_total 0",
		"socket_io_events_received_total 0", "socket_io_events_sent_total 0", "socket_io_receive_bytes 0", "socket_io_transmit_bytes 0", "socket_io_connection_duration_count 0",
	} {
		if !strings.Contains(string(said), "\n"+line+"\n") {
			t.Errorf("there is no %q", line)
		}
	}
	listening := operator.Get("/sys/subscriptions").Want(http.StatusOK)
	if listening.At("nodes.0") == nil || listening.At("nodes.1") != nil {
		t.Errorf("%s", listening.Body)
	}
	server.Stop()
	for _, ended := range streams {
		ended()
	}
}
