package socketio

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"atelier/internal/httpx"
)

// separator stands between the packets of one body.
const separator = "\x1e"

// poll answers with what there is for the client, and waits for it.
func (c *conn) poll(w http.ResponseWriter, r *http.Request) {
	if !c.occupy(&c.polling) {
		c.end(errOverlap)
		badRequest().write(w)
		return
	}
	defer c.free(&c.polling)
	defer context.AfterFunc(httpx.Stopping(r.Context()), func() { c.end(ErrClosed) })()
	for {
		if packets := c.due(); len(packets) > 0 {
			w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
			_, _ = io.WriteString(w, strings.Join(packets, separator)) // a client that has left comes back for it
			return
		}
		select {
		case <-c.ready:
		case <-c.done:
		case <-r.Context().Done():
			if !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
				c.end(errLeft)
				badRequest().write(w)
				return
			}
			c.push(packetNothing) // the request has no more time, the client has
		}
	}
}

// due is what a poll is answered with now; nothing when it has to wait.
func (c *conn) due() []string {
	c.mu.Lock()
	ended, probed, moved := c.ended, c.probed, c.socket
	c.mu.Unlock()
	if moved {
		signal(c.ready) // it was for the other one
		return []string{packetNothing}
	}
	packets := c.drain()
	switch {
	case ended != nil:
		return append(packets, packetClose)
	case len(packets) == 0 && probed:
		return []string{packetNothing} // the client waits for its last poll
	default:
		return packets
	}
}

// occupy and free see to it that there is one request of a kind at a time.
func (c *conn) occupy(kind *bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := !*kind
	*kind = true
	return free
}

func (c *conn) free(kind *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*kind = false
}

// take takes packets of the client.
func (c *conn) take(w http.ResponseWriter, r *http.Request) {
	if !c.occupy(&c.posting) {
		c.end(errOverlap)
		badRequest().write(w)
		return
	}
	defer c.free(&c.posting)
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/octet-stream" {
		c.end(errBinary)
		badRequest().write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
	if err != nil {
		c.end(errProtocol)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			tooLarge().write(w)
			return
		}
		badRequest().write(w)
		return
	}
	for packet := range strings.SplitSeq(string(body), separator) {
		if err := c.receive(packet); err != nil {
			c.end(err)
			if errors.Is(err, errLeft) {
				break
			}
			badRequest().write(w)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "ok")
}
