package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"atelier/internal/errs"
)

// politeListener gives requests that net/http refuses to parse, and answers by itself in plain text, the same answer as
// every other bad request: our JSON with a correlation id. It also refuses what net/http should; see headGuard.
type politeListener struct {
	net.Listener
	newID func() string
}

// Accept wraps the connection.
func (l politeListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &politeConn{Conn: conn, newID: l.newID}, nil
}

type politeConn struct {
	net.Conn
	newID  func() string
	guard  headGuard
	poison []byte      // what is still to be read in place of a refused request
	raw    atomic.Bool // the connection no longer speaks HTTP
}

// takenOver tells the connection that a handler has hijacked it, and that it no longer speaks HTTP.
func takenOver(conn net.Conn, state http.ConnState) {
	if polite, ok := conn.(*politeConn); ok && state == http.StateHijacked {
		polite.raw.Store(true)
	}
}

// Read passes on what the guard accepts. In place of a refused request net/http reads something that it refuses too, so
// that the refusal is written at its turn, after the answers to the requests before it.
func (c *politeConn) Read(b []byte) (int, error) {
	if c.poison != nil {
		return c.readPoison(b)
	}
	n, err := c.Conn.Read(b)
	if c.raw.Load() {
		return n, err
	}
	good := c.guard.scan(b[:n])
	if good == n {
		return n, err
	}
	c.poison = []byte("\x00\r\n\r\n") // a zero is not allowed anywhere in a head
	if good == 0 {
		return c.readPoison(b)
	}
	return good, nil
}

func (c *politeConn) readPoison(b []byte) (int, error) {
	if len(c.poison) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.poison)
	c.poison = c.poison[n:]
	return n, nil
}

// CloseWrite lets net/http end its side first, so that a client that is still sending can read why it was refused.
func (c *politeConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is how net/http goes on after the status line of its own refusals. A handler's answer never looks like this: it
// has a Date header and ours.
const refusal = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write passes everything on except a refusal of net/http, which it rewrites.
func (c *politeConn) Write(b []byte) (int, error) {
	if !isRefusal(b) || c.raw.Load() {
		return c.Conn.Write(b)
	}
	status, message := refusalOf(b)
	body, err := json.Marshal(errs.Shown{Error: errs.InvalidRequest, Message: message})
	if err != nil {
		return c.Conn.Write(b)
	}
	answer := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nX-Correlation-Id: %s\r\n%s: %s\r\n"+
		"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), c.newID(), headerVersionUsed, Behaviours()[len(Behaviours())-1].Date, len(body), body)
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(b), nil
}

func isRefusal(b []byte) bool {
	line, rest, found := bytes.Cut(b, []byte("\r\n"))
	if !found || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return false
	}
	if bytes.HasPrefix(line[len("HTTP/1.1"):], []byte(" 417 ")) { // an Expect header that net/http cannot meet
		return !bytes.Contains(rest, []byte("X-Correlation-Id: "))
	}
	return bytes.HasPrefix(rest, []byte(refusal))
}

// refusalOf gives our status and message. What net/http calls not implemented is a fault of the request all the same.
func refusalOf(b []byte) (status int, message string) {
	const prefix = "HTTP/1.1 "
	status, _ = strconv.Atoi(string(b[len(prefix) : len(prefix)+3]))
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return status, "The request headers are too large; at most 16 KiB are read."
	case http.StatusExpectationFailed:
		return status, "The only expectation that can be met is 100-continue."
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return http.StatusBadRequest, "This version or feature of HTTP is not supported; use HTTP/1.1."
	default:
		return http.StatusBadRequest, "The request is not well-formed HTTP."
	}
}
