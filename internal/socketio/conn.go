package socketio

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The packets of engine.io. What begins with b is binary, as text.
const (
	packetOpen    = "0"
	packetClose   = "1"
	packetPing    = "2"
	packetPong    = "3"
	packetMessage = "4"
	packetUpgrade = "5"
	packetNothing = "6"
	probe         = "probe"
)

// What waits for a client at most. Who has more for it waits too, until it has taken some.
const (
	maxPackets = 200
	maxQueue   = 256 << 10
)

// Why connections end, besides what handlers say.
var (
	errLeft     = errors.New("the client has left")
	errSilent   = errors.New("the client does not answer")
	errAlone    = errors.New("the client is in no namespace")
	errOverlap  = errors.New("the client sends requests that exclude each other")
	errProtocol = errors.New("the client breaks the protocol")
	errBinary   = errors.New("binary messages are not supported")
)

// conn is a connection of a client, whatever it is carried by.
type conn struct {
	server    *Server
	id        string
	caller    string
	handshake Handshake
	// life ends with the connection; it has what is known of the caller.
	life   context.Context //nolint:containedctx // it is the connection's own, as long as the connection
	cancel context.CancelCauseFunc

	ready chan struct{} // there is something for the client, or a reason for a poll to end
	room  chan struct{} // there may be room for more
	done  chan struct{} // closed at the end

	mu     sync.Mutex
	queue  []string
	queued int
	ended  error
	// socket tells that a WebSocket carries the connection, upgrading that one tries to, probed that messages pass through it.
	socket, upgrading, probed bool
	polling, posting          bool
	// asked is when the client was asked last whether it is alive; waiting while it has not answered.
	asked   time.Time
	waiting bool
	sockets map[string]*Socket
	// serving counts the handlers that run; alone is since when the connection has been in no namespace.
	serving int
	alone   time.Time
	joins   rate
}

// end ends the connection; the first reason counts.
func (c *conn) end(reason error) {
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return
	}
	c.ended = reason
	stranger := len(c.sockets) == 0
	c.sockets = nil
	c.mu.Unlock()
	close(c.done)
	c.cancel(reason)
	c.server.remove(c, stranger)
}

func signal(at chan struct{}) {
	select {
	case at <- struct{}{}:
	default:
	}
}

// send puts a packet into the queue, and waits for room.
func (c *conn) send(ctx context.Context, packet string) error {
	for {
		if sent, err := c.offer(packet); sent || err != nil {
			return err
		}
		select {
		case <-c.room:
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *conn) offer(packet string) (sent bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return false, c.ended
	}
	if c.queued > 0 && (c.queued+len(packet) > maxQueue || len(c.queue) >= maxPackets) {
		return false, nil
	}
	c.put(packet)
	if c.queued < maxQueue {
		signal(c.room) // for others who wait
	}
	return true, nil
}

// put puts a packet into the queue even when it is full. The connection is locked.
func (c *conn) put(packet string) {
	c.queue = append(c.queue, packet)
	c.queued += len(packet)
	signal(c.ready)
}

// push puts a packet into the queue even when it is full: for those of which there are few.
func (c *conn) push(packet string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.put(packet)
	}
}

// drain takes everything out of the queue.
func (c *conn) drain() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	packets := c.queue
	c.queue, c.queued = nil, 0
	signal(c.room)
	for _, packet := range packets {
		c.server.stats.bytesOut.Add(int64(len(packet)))
	}
	return packets
}

// look does what is due: asks whether the client is alive, ends the connection of one that is not or that is nowhere.
func (c *conn) look(now time.Time) {
	c.mu.Lock()
	var reason error
	switch since := now.Sub(c.asked); {
	case c.ended != nil:
	case c.waiting && since >= c.server.cfg.PingTimeout:
		reason = errSilent
	case len(c.sockets) == 0 && now.Sub(c.alone) >= joinTime:
		reason = errAlone
	case !c.waiting && since >= c.server.cfg.PingInterval:
		c.waiting, c.asked = true, now
		c.put(packetPing)
	}
	c.mu.Unlock()
	if reason != nil {
		c.end(reason)
	}
}

// alive notes that the client has answered. The next question is due an interval after the last one.
func (c *conn) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = false
}

// receive takes a packet of the client. The error ends the connection.
func (c *conn) receive(packet string) error {
	c.server.stats.bytesIn.Add(int64(len(packet)))
	if packet == "" {
		return errProtocol
	}
	kind, content := packet[:1], packet[1:]
	switch kind {
	case packetPong:
		c.alive()
		return nil
	case packetMessage:
		return c.message(content)
	case packetClose:
		return errLeft
	case packetNothing:
		return nil
	case "b":
		return errBinary
	default:
		return errProtocol
	}
}

// moved tells that the connection is not carried by polling any more.
func (c *conn) moved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.socket
}
