package service

import (
	"net/http"
	"time"

	"atelier/internal/events/internal/rest"
	"atelier/internal/restapi"
	"atelier/internal/socketio"
)

// SocketIO is what clients of socket.io need.
type SocketIO struct {
	// Identify tells whose a credential is that a client sends inside its socket.
	Identify rest.Identify
	// PingInterval is how often clients are asked whether they are alive.
	PingInterval time.Duration
	// CookieMaxAge is how long browsers keep the cookie of load balancers; zero means until they are closed.
	CookieMaxAge time.Duration
	// HTTPS tells that clients come over HTTPS, also from pages of other sites.
	HTTPS bool
	// Ended is told how long a client has listened; may be nil.
	Ended func(stayed time.Duration)
}

func newSocketIO(api *restapi.API, live *rest.Live, deps Deps) *rest.SocketIO {
	cfg := deps.SocketIO
	cookie := http.Cookie{MaxAge: int(cfg.CookieMaxAge.Seconds()), SameSite: http.SameSiteLaxMode}
	if cfg.HTTPS {
		cookie.Secure, cookie.SameSite = true, http.SameSiteNoneMode
	}
	return rest.RegisterSocketIO(api, rest.SocketIODeps{
		Live: live, Cursors: deps.Cursors, Identify: cfg.Identify, PingInterval: cfg.PingInterval, Cookie: cookie, Ended: cfg.Ended,
	})
}

// Sockets are the figures of the clients of socket.io.
func (s *Service) Sockets() socketio.Stats { return s.io.Stats() }
