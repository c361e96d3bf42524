package socketio

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"atelier/internal/httpx"
)

// writeTime is how long a client may take to take a message.
const writeTime = 10 * time.Second

// accept makes a WebSocket of a request. Where a page may come from that sends a cookie is for whoever knows the cookie.
func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err == nil {
		ws.SetReadLimit(maxPayload)
	}
	return ws, err
}

// connect serves a connection that is a WebSocket from the beginning.
func (c *conn) connect(w http.ResponseWriter, r *http.Request) {
	if !c.server.enter() {
		c.end(ErrClosed)
		tooMany().write(w)
		return
	}
	defer c.server.work.Done()
	r, done := httpx.Endless(w, r)
	defer done()
	ws, err := accept(w, r)
	if err != nil {
		c.end(errProtocol) // it has answered
		return
	}
	c.mu.Lock()
	c.socket = true
	c.put(c.opening())
	c.mu.Unlock()
	c.carry(r.Context(), ws)
}

// upgrade moves a connection from polling to a WebSocket: the client tries whether messages pass, ends polling, and says so.
// When it does not come that far, polling goes on.
func (c *conn) upgrade(w http.ResponseWriter, r *http.Request) {
	if !c.prepare() || !c.server.enter() {
		badRequest().write(w)
		return
	}
	defer c.server.work.Done()
	r, done := httpx.Endless(w, r)
	defer done()
	ws, err := accept(w, r)
	if err != nil {
		c.settle(false)
		return
	}
	if err := c.try(r.Context(), ws); err != nil {
		c.settle(false)
		_ = ws.CloseNow()
		return
	}
	c.settle(true)
	c.carry(r.Context(), ws)
}

// prepare lets one WebSocket at a time try.
func (c *conn) prepare() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil || c.socket || c.upgrading {
		return false
	}
	c.upgrading = true
	return true
}

func (c *conn) settle(moved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket, c.upgrading, c.probed = moved, false, false
	signal(c.ready)
}

func (c *conn) try(ctx context.Context, ws *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, upgradeTime)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	for _, step := range []struct{ hear, say string }{{packetPing + probe, packetPong + probe}, {packetUpgrade, ""}} {
		kind, text, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText || string(text) != step.hear {
			return errProtocol
		}
		if step.say == "" {
			return nil
		}
		if err := ws.Write(ctx, websocket.MessageText, []byte(step.say)); err != nil {
			return err
		}
		c.passed()
	}
	return nil
}

// passed ends a poll that waits: the client waits for it before it says that it has moved.
func (c *conn) passed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = true
	signal(c.ready)
}

// carry serves a connection over its WebSocket until one side ends it.
func (c *conn) carry(ctx context.Context, ws *websocket.Conn) {
	defer context.AfterFunc(ctx, func() { c.end(context.Cause(ctx)) })()
	defer context.AfterFunc(httpx.Stopping(ctx), func() { c.end(ErrClosed) })()
	written := make(chan struct{})
	c.server.work.Go(func() {
		defer close(written)
		c.write(ws)
	})
	c.read(ws)
	<-written
}

// read takes what the client says until it leaves. An end that the server wants is told to the client before it is cut.
func (c *conn) read(ws *websocket.Conn) {
	for {
		kind, text, err := ws.Read(context.Background())
		if err == nil && kind != websocket.MessageText {
			err = errBinary
		}
		if err == nil {
			err = c.receive(string(text))
		}
		if err != nil {
			c.end(closing(err))
			return
		}
	}
}

// closing keeps the errors of the network out of what is told.
func closing(err error) error {
	if errors.Is(err, errBinary) || errors.Is(err, errProtocol) {
		return err
	}
	return errLeft
}

// write sends what there is until the end.
func (c *conn) write(ws *websocket.Conn) {
	for {
		for _, packet := range c.drain() {
			if err := write(ws, packet); err != nil {
				c.end(errLeft)
				_ = ws.CloseNow()
				return
			}
		}
		select {
		case <-c.ready:
			continue
		case <-c.done:
		}
		break
	}
	for _, packet := range c.drain() {
		if write(ws, packet) != nil {
			break
		}
	}
	c.farewell(ws)
}

func write(ws *websocket.Conn, packet string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	return ws.Write(ctx, websocket.MessageText, []byte(packet))
}

// farewell says why the connection ends.
func (c *conn) farewell(ws *websocket.Conn) {
	switch {
	case errors.Is(c.ended, errLeft), errors.Is(c.ended, errSilent):
		_ = ws.CloseNow()
	case errors.Is(c.ended, ErrClosed):
		_ = ws.Close(websocket.StatusServiceRestart, "the server is stopping; connect again")
	case errors.Is(c.ended, errBinary):
		_ = ws.Close(websocket.StatusUnsupportedData, "send text messages")
	case errors.Is(c.ended, errProtocol):
		_ = ws.Close(websocket.StatusProtocolError, "this is not socket.io")
	case errors.Is(c.ended, errAlone):
		_ = ws.Close(websocket.StatusPolicyViolation, "join a namespace")
	default:
		_ = ws.Close(websocket.StatusTryAgainLater, "connect again")
	}
}
