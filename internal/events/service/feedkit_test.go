package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
)

// ticking is a clock that a test owns, except for the short pauses in which the log looks for events.
type ticking struct {
	*clock.Manual

	mu    sync.Mutex
	armed map[time.Duration]int
}

func newTicking(now time.Time) *ticking {
	return &ticking{Manual: clock.NewManual(now), armed: map[time.Duration]int{}}
}

func (c *ticking) NewTimer(d time.Duration) clock.Timer {
	const short = 250 * time.Millisecond
	if d <= short {
		return clock.System{}.NewTimer(d)
	}
	timer := c.Manual.NewTimer(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed[d]++
	return timer
}

func (c *ticking) count(d time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.armed[d]
}

// pass lets time pass once the hub waits for it, and waits until the hub has noticed.
func (h *house) pass(d time.Duration) {
	h.t.Helper()
	const tick = time.Second
	h.until("the hub waits", func() bool { return h.clock.count(tick) > 0 })
	before := h.clock.count(tick)
	h.clock.Advance(d)
	h.until("the hub has noticed", func() bool { return h.clock.count(tick) > before })
}

// until waits for something to become true.
func (h *house) until(what string, holds func() bool) {
	h.t.Helper()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			h.t.Fatal("it never became true that " + what)
		}
	}
}

// serve is the door on the network, for those who stay.
func (c *caller) serve() *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.house.door.ServeHTTP(w, r.WithContext(access.With(r.Context(), c.who)))
	}))
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if plain, ok := conn.(*net.TCPConn); ok {
			_ = plain.SetWriteBuffer(littleRoom)
		}
		return ctx
	}
	server.Start()
	c.house.t.Cleanup(server.Close)
	return server
}

// littleRoom is what the network holds for a reader, so that one that does not read is noticed.
const littleRoom = 64 << 10

func narrow(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if plain, ok := conn.(*net.TCPConn); ok {
		_ = plain.SetReadBuffer(littleRoom)
	}
	return conn, err
}

// flood stores many events at once, and one more of the type end.
func (h *house) flood(count, size int) {
	h.t.Helper()
	const most = 500
	body := json.RawMessage(`{"payload":"` + strings.Repeat("x", size) + `","source":{"workspaceId":"` + home + `"}}`)
	for count >= 0 {
		var records []bus.Record
		for ; count > 0 && len(records) < most; count-- {
			records = append(records, bus.Record{WorkspaceID: home, Type: "large", Body: body})
		}
		if count == 0 {
			records, count = append(records, bus.Record{WorkspaceID: home, Type: "end", Body: body}), -1
		}
		if _, err := h.log.Append(h.t.Context(), records...); err != nil {
			h.t.Fatal(err)
		}
	}
}

// message is one server-sent event.
type message struct{ id, event, data, comment string }

func (m message) text(path string) string {
	var value any
	_ = json.Unmarshal([]byte(m.data), &value)
	for part := range strings.SplitSeq(path, ".") {
		in, _ := value.(map[string]any)
		value = in[part]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// stream is a stream of events that is being read.
type stream struct {
	t      *testing.T
	status int
	body   *bufio.Reader
	leave  func()
	// last is what a browser would send when it comes back.
	last string
}

// listen opens a stream, after an event when one is named.
func (c *caller) listen(query, after string) *stream {
	c.house.t.Helper()
	return c.listenAt(c.serve().URL, query, after)
}

func (c *caller) listenAt(address, query, after string) *stream {
	t := c.house.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+events+"?sse=true"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	transport := &http.Transport{DisableCompression: true, DialContext: narrow}
	answer, err := (&http.Client{Transport: transport}).Do(r) //nolint:bodyclose // leave does
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	s := &stream{t: t, status: answer.StatusCode, body: bufio.NewReader(answer.Body), last: after}
	s.leave = func() {
		cancel()
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
	}
	t.Cleanup(s.leave)
	if s.status == http.StatusOK {
		if first, err := s.read(); err != nil || first.comment == "" || first.id == "" || first.data != "" {
			t.Fatalf("the stream begins with %+v, %v", first, err)
		}
	}
	return s
}

// read takes what comes next, whatever it is.
func (s *stream) read() (m message, err error) {
	for {
		line, err := s.body.ReadString('\n')
		if err != nil {
			return m, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			m.id, s.last = value, value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if value == "" && m != (message{}) {
				return m, nil
			}
			m.comment += value
		}
	}
}

// next takes the next event.
func (s *stream) next() message {
	s.t.Helper()
	for {
		m, err := s.read()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		if m.data != "" {
			return m
		}
	}
}

// types takes so many events and lists their types.
func (s *stream) types(count int) string {
	s.t.Helper()
	var types []string
	for range count {
		m := s.next()
		if m.event != "" {
			s.t.Fatalf("%+v", m)
		}
		types = append(types, m.text("type"))
	}
	return strings.Join(types, " ")
}

// ended reads until the stream ends and gives what was said last.
func (s *stream) ended() (last message) {
	s.t.Helper()
	for {
		m, err := s.read()
		if errors.Is(err, io.EOF) {
			return last
		}
		if err != nil {
			s.t.Fatalf("the stream was cut: %v", err)
		}
		if m.data != "" {
			last = m
		}
	}
}
