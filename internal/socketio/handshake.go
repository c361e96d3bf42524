package socketio

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"atelier/internal/httpx"
)

// Handshake is the request that a connection began with.
type Handshake struct {
	Query url.Values
	// Polling tells that it was one of long polling.
	Polling bool
}

// fault is an answer of engine.io to a request that it does not serve.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	status  int
}

// The faults, as every server of engine.io words them.
func unknownTransport() fault { return fault{0, "Transport unknown", http.StatusBadRequest} }
func unknownSession() fault   { return fault{1, "Session ID unknown", http.StatusBadRequest} }
func badMethod() fault        { return fault{2, "Bad handshake method", http.StatusBadRequest} }
func badRequest() fault       { return fault{3, "Bad request", http.StatusBadRequest} }
func badVersion() fault       { return fault{5, "Unsupported protocol version", http.StatusBadRequest} }
func tooMany() fault {
	return fault{3, "Too many connections; try again later", http.StatusServiceUnavailable}
}
func tooLarge() fault { return fault{3, "Payload too large", http.StatusRequestEntityTooLarge} }

func (f fault) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f) // a client that has left is told nothing
}

const (
	polling   = "polling"
	webSocket = "websocket"
	version   = "4"
)

// ServeHTTP serves one request of a client.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	transport, id := query.Get("transport"), query.Get("sid")
	switch {
	case transport != polling && transport != webSocket:
		unknownTransport().write(w)
	case query.Get("EIO") != version:
		badVersion().write(w)
	case httpx.Upgrades(r) != (transport == webSocket):
		badRequest().write(w)
	case id != "":
		s.again(w, r, id, transport)
	case r.Method != http.MethodGet:
		badMethod().write(w)
	default:
		s.begin(w, r, query, transport)
	}
}

// again serves a request of a connection that there is.
func (s *Server) again(w http.ResponseWriter, r *http.Request, id, transport string) {
	c := s.find(id)
	switch {
	case c == nil:
		unknownSession().write(w)
	case c.caller != s.cfg.Caller(r): // somebody else, or nobody any more
		badRequest().write(w)
	case transport == webSocket:
		c.upgrade(w, r)
	case c.moved():
		badRequest().write(w)
	case r.Method == http.MethodPost:
		c.take(w, r)
	default:
		c.poll(w, r)
	}
}

// begin opens a connection.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, query url.Values, transport string) {
	now := s.cfg.Clock.Now()
	life, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	c := &conn{
		server: s, id: s.cfg.IDs.Secret(), caller: s.cfg.Caller(r), life: life, cancel: cancel,
		handshake: Handshake{Query: query, Polling: transport == polling},
		ready:     make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
		sockets: map[string]*Socket{}, asked: now, alone: now, joins: rate{at: now},
	}
	if !s.add(c) {
		cancel(nil)
		tooMany().write(w)
		return
	}
	http.SetCookie(w, s.cookie(c.id))
	if transport == webSocket {
		c.connect(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	text := c.opening(webSocket)
	s.stats.bytesOut.Add(int64(len(text)))
	_, _ = w.Write([]byte(text))
}

func (s *Server) cookie(id string) *http.Cookie {
	cookie := s.cfg.Cookie
	cookie.Name, cookie.Value, cookie.Path, cookie.HttpOnly = "io", id, "/", true
	return &cookie
}

// opening is the first packet of a connection.
func (c *conn) opening(upgrades ...string) string {
	text, _ := json.Marshal(struct {
		ID       string   `json:"sid"`
		Upgrades []string `json:"upgrades"`
		Interval int64    `json:"pingInterval"`
		Timeout  int64    `json:"pingTimeout"`
		Payload  int      `json:"maxPayload"`
	}{c.id, append([]string{}, upgrades...), c.server.cfg.PingInterval.Milliseconds(), c.server.cfg.PingTimeout.Milliseconds(), maxPayload})
	return packetOpen + strings.TrimSpace(string(text))
}
