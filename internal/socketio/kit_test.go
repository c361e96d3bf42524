package socketio_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/socketio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	interval = 15 * time.Second
	timeout  = 20 * time.Second
)

// counting is a clock that tells how often somebody waited for it.
type counting struct {
	*clock.Manual
	armed atomic.Int64
}

func (c *counting) NewTimer(d time.Duration) clock.Timer {
	timer := c.Manual.NewTimer(d)
	c.armed.Add(1)
	return timer
}

// house is a server on the network.
type house struct {
	t      *testing.T
	clock  *counting
	server *socketio.Server
	door   *httptest.Server
	client *http.Client
	// sent counts what /flood could send.
	sent atomic.Int64
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, clock: &counting{Manual: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}}
	h.server = socketio.New(socketio.Config{
		Clock: h.clock, PingInterval: interval, PingTimeout: timeout, Serve: h.serve,
		Caller: func(r *http.Request) string { return r.Header.Get("Caller") },
	})
	h.door = httptest.NewServer(h.server)
	transport := &http.Transport{}
	h.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := h.server.Close(ctx); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		h.door.Close()
	})
	return h
}

// serve says back what clients say, except in namespaces with other habits.
func (h *house) serve(ctx context.Context, s *socketio.Socket) error {
	if s.Namespace == "/refused" {
		return &socketio.RefusedError{Message: "Not you", Data: map[string]string{"error": "denied"}}
	}
	if err := s.Accept(map[string]string{"sid": "id-of" + s.Namespace}); err != nil {
		return err
	}
	switch s.Namespace {
	case "/away":
		return &socketio.RefusedError{Message: "Go"}
	case "/again":
		return errors.New("come back")
	case "/flood":
		for {
			if err := s.Emit("large", []byte(`"`+strings.Repeat("x", 10_000)+`"`)); err != nil {
				return err
			}
			h.sent.Add(1)
		}
	}
	for {
		m, err := s.Receive(ctx)
		if err != nil {
			return err
		}
		args := make([][]byte, 0, len(m.Args))
		for _, arg := range m.Args {
			args = append(args, arg)
		}
		if m.Asked() {
			err = m.Answer(map[string]any{"got": m.Args})
		} else {
			err = s.Emit("echo "+m.Name, args...)
		}
		if err != nil {
			return err
		}
	}
}

// send sends a request of long polling.
func (h *house) send(method, query, body string, header ...string) (status int, answer string) {
	h.t.Helper()
	status, answer, err := h.try(method, query, body, header...)
	if err != nil {
		h.t.Fatal(err)
	}
	return status, answer
}

func (h *house) try(method, query, body string, header ...string) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.door.URL+"/socket.io/?"+query, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := h.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func (h *house) want(status int, body string, method, query, sent string, header ...string) {
	h.t.Helper()
	if got, answer := h.send(method, query, sent, header...); got != status || !strings.Contains(answer, body) {
		h.t.Fatalf("%s %s: %d %s, want %d %s", method, query, got, answer, status, body)
	}
}

// client is one of long polling.
type client struct {
	*house
	id string
}

func (h *house) open() *client {
	h.t.Helper()
	_, text := h.send(http.MethodGet, "EIO=4&transport=polling", "")
	return &client{h, opened(h.t, text)}
}

// opened reads the first packet.
func opened(t *testing.T, text string) string {
	t.Helper()
	var open struct {
		ID       string `json:"sid"`
		Interval int64  `json:"pingInterval"`
		Timeout  int64  `json:"pingTimeout"`
		Payload  int64  `json:"maxPayload"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "0")), &open); err != nil || open.ID == "" || open.Interval != 15000 || open.Timeout != 20000 || open.Payload != 1_000_000 {
		t.Fatalf("%s: %v", text, err)
	}
	return open.ID
}

func (c *client) query() string { return "EIO=4&transport=polling&sid=" + c.id }

func (c *client) post(packets ...string) {
	c.t.Helper()
	c.want(http.StatusOK, "ok", http.MethodPost, c.query(), strings.Join(packets, "\x1e"))
}

// poll waits for packets and wants these.
func (c *client) poll(want ...string) {
	c.t.Helper()
	status, text := c.send(http.MethodGet, c.query(), "")
	if status != http.StatusOK || text != strings.Join(want, "\x1e") {
		c.t.Fatalf("%d %q, want %q", status, text, want)
	}
}

// gone waits until the server does not know the connection any more.
func (c *client) gone() {
	c.t.Helper()
	c.want(http.StatusBadRequest, `{"code":1,"message":"Session ID unknown"}`, http.MethodGet, c.query(), "")
}

// wire is a client over a WebSocket.
type wire struct {
	*house
	conn *websocket.Conn
}

func (h *house) dial(query string) *wire {
	h.t.Helper()
	conn, _, err := websocket.Dial(h.t.Context(), h.door.URL+"/socket.io/?EIO=4&transport=websocket"+query, &websocket.DialOptions{HTTPClient: h.client}) //nolint:bodyclose // it is the socket
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	return &wire{h, conn}
}

func (w *wire) say(packets ...string) {
	w.t.Helper()
	for _, packet := range packets {
		if err := w.conn.Write(w.t.Context(), websocket.MessageText, []byte(packet)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *wire) read() string {
	w.t.Helper()
	_, text, err := w.conn.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *wire) hear(want ...string) {
	w.t.Helper()
	for _, packet := range want {
		if got := w.read(); got != packet {
			w.t.Fatalf("%q, want %q", got, packet)
		}
	}
}

// closed reads until the end and wants it to have this code.
func (w *wire) closed(code websocket.StatusCode) {
	w.t.Helper()
	for {
		if _, _, err := w.conn.Read(w.t.Context()); err != nil {
			if got := websocket.CloseStatus(err); got != code {
				w.t.Fatalf("closed with %d, want %d: %v", got, code, err)
			}
			return
		}
	}
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

// pass lets time pass, second by second, once the server waits for it.
func (h *house) pass(d time.Duration) {
	h.t.Helper()
	h.until("the server waits", func() bool { return h.clock.armed.Load() > 0 })
	for ; d > 0; d -= time.Second {
		before := h.clock.armed.Load()
		h.clock.Advance(time.Second)
		h.until("the server has looked", func() bool { return h.clock.armed.Load() > before || h.server.Stats().Connections == 0 })
	}
}
