// Package socketio speaks socket.io with clients: version 5 of its protocol over version 4 of engine.io, by HTTP long polling
// and by WebSocket. It knows connections, namespaces and messages, and nothing of what they are about.
package socketio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"atelier/internal/clock"
	"atelier/internal/ident"
)

// Config is what a server needs.
type Config struct {
	Clock clock.Clock
	IDs   ident.Source
	// PingInterval is how often a client is asked whether it is alive, PingTimeout how long it has to answer.
	PingInterval, PingTimeout time.Duration
	// Cookie is what load balancers know the clients of one instance by; its name and value are set here.
	Cookie http.Cookie
	// Caller names who sends a request. The requests of a connection all come from the caller that opened it.
	Caller func(r *http.Request) string
	// Serve is run for every client that joins a namespace.
	Serve Handler
	// Ended is told how long a client was in a namespace; may be nil.
	Ended func(stayed time.Duration)
}

// Handler serves a client in a namespace. It accepts the client, or refuses it by returning an error: a RefusedError is told to the
// client. Afterwards a RefusedError sends the client away from the namespace for good, and any other error makes it come back: its
// connection is closed. The context ends when the client leaves.
type Handler func(ctx context.Context, s *Socket) error

// RefusedError is an error that clients are told.
type RefusedError struct {
	Message string
	Data    any
}

// Error implements error.
func (r *RefusedError) Error() string { return r.Message }

// ErrClosed tells that the server is stopping.
var ErrClosed = errors.New("the server is stopping")

const (
	// maxPayload is the largest message of a client.
	maxPayload = 1_000_000
	// joinTime is how long a connection may be in no namespace.
	joinTime = 45 * time.Second
	// upgradeTime is how long a client may take to move from polling to its WebSocket.
	upgradeTime = 10 * time.Second
	// maxNamespaces is how many one connection may be in.
	maxNamespaces = 20
	// maxStrangers is how many connections may be in no namespace.
	maxStrangers = 10_000
	// tick is how often the server looks which clients are due.
	tick = time.Second
)

// Server has connections with clients.
type Server struct {
	cfg   Config
	stats stats
	// work is everything that runs for connections.
	work sync.WaitGroup
	// strangers counts the connections that are in no namespace.
	mu        sync.Mutex
	conns     map[string]*conn
	strangers int
	stop      context.CancelFunc
	closed    bool
}

// New returns a server. Nothing runs until there is a client.
func New(cfg Config) *Server { return &Server{cfg: cfg, conns: map[string]*conn{}} }

// Close ends every connection, and waits until nothing runs for them any more, or until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, c := range s.all() {
		c.end(ErrClosed)
	}
	gone := make(chan struct{})
	go func() {
		s.work.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("some clients of socket.io have not left: %w", ctx.Err())
	}
}

func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		list = append(list, c)
	}
	return list
}

// add takes a connection in. It gives false when there is no place for it.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.strangers >= maxStrangers {
		return false
	}
	s.conns[c.id] = c
	s.strangers++
	if len(s.conns) == 1 {
		running, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.work.Go(func() { s.keepTime(running) })
	}
	return true
}

// enter lets something run for connections, which says work.Done at its end; not while the server stops.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Server) remove(c *conn, stranger bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.id)
	if stranger {
		s.strangers--
	}
	if len(s.conns) == 0 {
		s.stop()
	}
}

// acquainted notes that a connection is in a namespace now, or in none any more.
func (s *Server) acquainted(joined bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if joined {
		s.strangers--
	} else {
		s.strangers++
	}
}

func (s *Server) find(id string) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}

// keepTime is the one timer of all connections.
func (s *Server) keepTime(ctx context.Context) {
	for {
		timer := s.cfg.Clock.NewTimer(tick)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		now := s.cfg.Clock.Now()
		for _, c := range s.all() {
			c.look(now)
		}
	}
}
