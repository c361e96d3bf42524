package httpx

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Server is an HTTP listener with bounded reads and a graceful end.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan error
	stopping context.CancelFunc // ends the streams
}

// ServerConfig is what a Server needs.
type ServerConfig struct {
	Host string
	Port int
	// Listener, when set, is used instead of Host and Port.
	Listener net.Listener
	Handler  http.Handler
	Log      *slog.Logger
	// Inside allows the larger headers that the gateway's proof needs.
	Inside bool
	// NewID names responses to requests that cannot be parsed at all.
	NewID func() string
}

// Limits of a connection; see the shared table of limits in the operator guide.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
	// maxProofBytes is for services behind the gateway: the proof holds what providers say of the caller.
	maxProofBytes = 128 << 10
)

// Listen takes the port. Nothing is served before Serve.
func Listen(ctx context.Context, cfg ServerConfig) (*Server, error) {
	listener := cfg.Listener
	if listener == nil {
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))); err != nil {
			return nil, err
		}
	}
	largest := maxHeaderBytes
	if cfg.Inside {
		largest = maxProofBytes
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	running, stopping := context.WithCancel(context.Background())
	return &Server{
		stopping: stopping,
		listener: politeListener{Listener: listener, newID: cfg.NewID},
		done:     make(chan error, 1),
		http: &http.Server{
			Handler:           cfg.Handler,
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    largest,
			Protocols:         protocols,
			ConnState:         takenOver,
			BaseContext: func(net.Listener) context.Context {
				return context.WithValue(context.Background(), stoppingKey{}, running)
			},
			// OPTIONS * is answered like every other request that is not for us.
			DisableGeneralOptionsHandler: true,
			ErrorLog:                     slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		},
	}, nil
}

// Addr is the address in use.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Start serves in the background until Stop.
func (s *Server) Start() {
	go func() {
		err := s.http.Serve(s.listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.done <- err
	}()
}

// Done tells when serving ended, and why.
func (s *Server) Done() <-chan error { return s.done }

// Stop takes no more connections, ends the streams, waits for the running requests, and cuts what is left when ctx ends.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}

// CloseIdle makes keep-alive clients come back on a new connection, which the load balancer sends elsewhere.
func (s *Server) CloseIdle() { s.http.SetKeepAlivesEnabled(false) }
