package automations_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
)

// cable is a way to a server that can be cut.
type cable struct {
	t        *testing.T
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu    sync.Mutex
	torn  bool
	lines map[net.Conn]struct{}
}

// lay lays a cable to the server of an address, and gives the address that leads through it.
func lay(t *testing.T, address string) (*cable, string) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{t: t, server: parsed.Host, listener: apptest.Listen(t), lines: map[net.Conn]struct{}{}}
	parsed.Host = c.listener.Addr().String()
	c.all.Go(c.accept)
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.cut()
		c.all.Wait()
	})
	return c, parsed.String()
}

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.server)
		if err != nil || !c.keep(near, far) {
			_ = near.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			c.all.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_ = near.Close()
				_ = far.Close()
			})
		}
	}
}

// keep remembers a connection; false when the cable is cut.
func (c *cable) keep(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.torn {
		_ = far.Close()
		return false
	}
	c.lines[near] = struct{}{}
	return true
}

// cut ends all connections, and lets no new ones through.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.torn = true
	for line := range c.lines {
		_ = line.Close()
	}
	clear(c.lines)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.torn = false
}

// A run that an event started goes on after the database was away for a while, and does nothing twice.
func TestRunsOutliveAnOutage(t *testing.T) {
	t.Parallel()
	line, address := lay(t, sqldbtest.PostgresURL(t))
	s := apptest.Start(t, clock.System{}, "DISABLE_RATE_LIMIT=true", "DATABASE_URL="+address, "DATA_DIR="+t.TempDir())
	r := newRoom(t, s.Admin(), map[string]any{})
	r.add("works", `{"when": {"events": ["begin"]}, "do": [{"emit": {"event": "first", "payload": {}}}, {"wait": {"timeout": 1}},
		{"try": {"do": [{"set": {"name": "global.done[]", "value": "{{id}}"}}], "catch": [{"emit": {"event": "caught", "payload": {}}}]}}, {"emit": {"event": "second", "payload": {}}}]}`)
	r.add("done", `{"when": {"endpoint": true}, "do": [], "output": "{{global.done}}"}`)
	r.emit("begin", map[string]any{})
	r.until("the run has begun", func() bool { return r.events("first") == 1 })
	line.cut()
	away := time.NewTimer(3 * time.Second)
	<-away.C
	line.mend()
	r.until("the database is back", func() bool {
		answer, err := r.admin.Try(t.Context(), http.MethodGet, r.path, nil)
		return err == nil && answer.Status == http.StatusOK
	})
	r.until("the run came to its end", func() bool { return r.events("second") == 1 })
	if r.events("first") != 1 || r.events("caught") != 0 || r.events("error") != 0 {
		t.Errorf("first %d, caught %d, errors %d", r.events("first"), r.events("caught"), r.events("error"))
	}
	if done := r.call("done", map[string]any{}).Want(http.StatusOK); done.Text("0") == "" || done.Text("1") != "" {
		t.Errorf("done: %s", done.Body)
	}
}
