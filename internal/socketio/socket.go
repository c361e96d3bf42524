package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Socket is a client in a namespace.
type Socket struct {
	// Namespace is how the client calls where it is.
	Namespace string
	// Auth is the object that the client joined with; nil when there is none.
	Auth json.RawMessage

	conn     *conn
	ctx      context.Context //nolint:containedctx // it is the socket's own, as long as the socket
	cancel   context.CancelCauseFunc
	inbox    chan Message
	accepted bool
	since    time.Time
}

// maxInbox is how many messages of a client wait in a namespace. Beyond it nothing more is read from it.
const maxInbox = 16

// Handshake is the request that the connection began with.
func (s *Socket) Handshake() Handshake { return s.conn.handshake }

// Accept lets the client in. The answer is an object with at least its sid.
func (s *Socket) Accept(answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if err := s.send(packet{kind: kindConnect, namespace: s.Namespace, data: string(text)}); err != nil {
		return err
	}
	s.accepted, s.since = true, s.conn.server.cfg.Clock.Now()
	s.conn.server.stats.joined.Add(1)
	return nil
}

// Emit sends a message. It waits for a client that is slow, until that has gone.
func (s *Socket) Emit(name string, args ...[]byte) error {
	s.conn.server.stats.sent.Add(1)
	return s.send(packet{kind: kindEvent, namespace: s.Namespace, data: arguments(name, args...)})
}

// Last sends a message without waiting: the last one before the end.
func (s *Socket) Last(name string, args ...[]byte) {
	s.conn.server.stats.sent.Add(1)
	s.conn.push(packet{kind: kindEvent, namespace: s.Namespace, data: arguments(name, args...)}.String())
}

func (s *Socket) send(p packet) error { return s.conn.send(s.ctx, p.String()) }

// Receive waits for what the client says next.
func (s *Socket) Receive(ctx context.Context) (Message, error) {
	select {
	case m := <-s.inbox:
		s.conn.server.stats.received.Add(1)
		return m, nil
	case <-s.ctx.Done():
		return Message{}, context.Cause(s.ctx)
	case <-ctx.Done():
		return Message{}, context.Cause(ctx)
	}
}

// message takes a packet of socket.io. The error ends the connection.
func (c *conn) message(text string) error {
	p, err := parse(text)
	if err != nil {
		return err
	}
	switch p.kind {
	case kindConnect:
		return c.join(p)
	case kindDisconnect:
		if s := c.leave(p.namespace, nil); s != nil {
			s.cancel(errLeft)
		}
		return nil
	case kindEvent:
		return c.hand(p)
	case kindAck: // nothing of ours asks for one
		return nil
	default:
		return errProtocol
	}
}

// hand gives a message to its namespace.
func (c *conn) hand(p packet) error {
	c.mu.Lock()
	s := c.sockets[p.namespace]
	c.mu.Unlock()
	if s == nil {
		return errProtocol
	}
	m, err := p.message()
	if err != nil {
		return err
	}
	m.socket = s
	select {
	case s.inbox <- m:
	case <-s.ctx.Done():
	}
	return nil
}

// join lets a client ask for a namespace.
func (c *conn) join(p packet) error {
	var auth json.RawMessage
	if p.data != "" {
		if !strings.HasPrefix(p.data, "{") || !json.Valid([]byte(p.data)) {
			return errProtocol
		}
		auth = json.RawMessage(p.data)
	}
	s := &Socket{Namespace: p.namespace, Auth: auth, conn: c, inbox: make(chan Message, maxInbox)}
	s.ctx, s.cancel = context.WithCancelCause(c.life)
	err := c.admit(s)
	if err != nil {
		s.cancel(err)
	}
	return err
}

// admit makes a place for a client in a namespace, and serves it. Libraries ask twice when they are told to connect while they
// do; the first time counts. Asking all the time is a mistake.
func (c *conn) admit(s *Socket) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended != nil:
		return c.ended
	case !c.joins.admit(c.server.cfg.Clock.Now()):
		return errProtocol
	case c.sockets[s.Namespace] != nil:
		s.cancel(nil)
		return nil
	case c.serving >= maxNamespaces:
		s.cancel(nil)
		c.put(s.refusal(&RefusedError{Message: "Too many namespaces"}))
		return nil
	case !c.server.enter():
		return ErrClosed
	}
	if len(c.sockets) == 0 {
		c.server.acquainted(true)
	}
	c.sockets[s.Namespace] = s
	c.serving++
	go s.serve()
	return nil
}

// leave takes a client out of a namespace: the one given, or whichever is there.
func (c *conn) leave(namespace string, only *Socket) *Socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sockets[namespace]
	if s == nil || only != nil && s != only {
		return nil
	}
	delete(c.sockets, namespace)
	if len(c.sockets) == 0 {
		c.alone = c.server.cfg.Clock.Now()
		c.server.acquainted(false)
	}
	return s
}

// serve runs the handler, and tells the client how it ended.
func (s *Socket) serve() {
	c := s.conn
	defer c.server.work.Done()
	err := c.server.cfg.Serve(s.ctx, s)
	there := c.leave(s.Namespace, s) != nil
	s.cancel(nil)
	c.mu.Lock()
	c.serving--
	c.mu.Unlock()
	if s.accepted {
		c.server.stats.left.Add(1)
		if c.server.cfg.Ended != nil {
			c.server.cfg.Ended(c.server.cfg.Clock.Now().Sub(s.since))
		}
	}
	if !there {
		return
	}
	refusal, refused := errors.AsType[*RefusedError](err)
	switch {
	case refused && !s.accepted:
		c.push(s.refusal(refusal))
	case refused || err == nil:
		c.push(packet{kind: kindDisconnect, namespace: s.Namespace}.String())
	default:
		c.end(err)
	}
}

// refusal is the packet that tells a client why it may not join.
func (s *Socket) refusal(r *RefusedError) string {
	text, err := json.Marshal(struct {
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{r.Message, r.Data})
	if err != nil {
		text = []byte(`{"message":"Refused"}`)
	}
	return packet{kind: kindRefused, namespace: s.Namespace, data: string(text)}.String()
}

// rate bounds how often a connection asks for a namespace: each time costs a look at its rights.
type rate struct {
	spent float64
	at    time.Time
}

// A connection may ask so often at once, and so often a second in the long run.
const (
	joinBurst  = 50
	joinPerSec = 1
)

func (r *rate) admit(now time.Time) bool {
	r.spent = max(0, r.spent-now.Sub(r.at).Seconds()*joinPerSec)
	r.at = now
	if r.spent >= joinBurst {
		return false
	}
	r.spent++
	return true
}
