package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	events "atelier/internal/events/service"
	"atelier/internal/gateway"
)

// socketIO is what clients of socket.io need.
func (s *services) socketIO() events.SocketIO {
	const half = 2 // of the time that a poll may take
	cfg := s.app.opts.Config
	return events.SocketIO{
		Identify: s.identify(), PingInterval: min(cfg.SocketPingInterval, cfg.RequestTimeout/half), CookieMaxAge: cfg.SocketCookieMaxAge,
		HTTPS: strings.HasPrefix(cfg.PublicURL(), "https://"),
		Ended: s.app.metrics.Durations("socket_io_connection_duration", "How long clients of socket.io were connected, in seconds."),
	}
}

// socketMetrics publishes the figures of those who listen to events, and of socket.io.
func (s *services) socketMetrics(service *events.Service) {
	m := s.app.metrics
	m.Gauge("subscriptions_total", "Subscriptions of those who listen to events as they happen.", func() float64 { return float64(service.Listening().Subscribers) })
	m.Gauge("subscriptions_workspaces_total", "Workspaces that somebody listens to.", func() float64 { return float64(service.Listening().Workspaces) })
	m.Gauge("socket_io_connected", "Clients of socket.io that are connected.", func() float64 {
		stats := service.Sockets()
		return float64(stats.Joined - stats.Left)
	})
	m.Counter("socket_io_connect_total", "Clients of socket.io that have connected.", func() float64 { return float64(service.Sockets().Joined) })
	m.Counter("socket_io_disconnect_total", "Clients of socket.io that have left.", func() float64 { return float64(service.Sockets().Left) })
	m.Counter("socket_io_events_received_total", "Messages of clients of socket.io.", func() float64 { return float64(service.Sockets().Received) })
	m.Counter("socket_io_events_sent_total", "Messages to clients of socket.io.", func() float64 { return float64(service.Sockets().Sent) })
	m.Counter("socket_io_receive_bytes", "What clients of socket.io have sent, in bytes.", func() float64 { return float64(service.Sockets().BytesIn) })
	m.Counter("socket_io_transmit_bytes", "What clients of socket.io were sent, in bytes.", func() float64 { return float64(service.Sockets().BytesOut) })
}

// identify asks the gateway whose a credential is: the one of this process, or the one at INTERNAL_API_URL.
func (s *services) identify() func(ctx context.Context, authorization, apiKey string) (access.Principal, error) {
	if s.app.runsGateway() {
		return func(ctx context.Context, authorization, apiKey string) (access.Principal, error) {
			return s.gateway.Identify(ctx, gateway.Credential{Authorization: authorization, Key: apiKey})
		}
	}
	client, address := s.app.parts.inside(), strings.TrimSuffix(s.app.opts.Config.InternalURL(), "/v2")+gateway.CallersPath
	return func(ctx context.Context, authorization, apiKey string) (caller access.Principal, err error) {
		caller, err = s.askGateway(ctx, client, address, gateway.Credential{Authorization: authorization, Key: apiKey})
		if _, known := err.(*errs.Error); err != nil && !known { //nolint:errorlint // what is wrapped is not the gateway's word
			err = errs.New(errs.Unavailable, "The gateway cannot be reached right now; try again shortly.").WithRetryAfter(time.Second).Because(err)
		}
		return caller, err
	}
}

// askGateway sends a credential with the proof that this process is one of the installation. The error is the gateway's when
// that is its answer.
func (s *services) askGateway(ctx context.Context, client *http.Client, address string, credential gateway.Credential) (caller access.Principal, err error) {
	body, err := json.Marshal(credential)
	if err != nil {
		return caller, err
	}
	ctx = access.With(ctx, access.Principal{Kind: access.Internal})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return caller, err
	}
	r.Header.Set("Content-Type", "application/json")
	if err := s.app.parts.prover.Prove(ctx, r); err != nil {
		return caller, err
	}
	response, err := client.Do(r)
	if err != nil {
		return caller, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return caller, json.NewDecoder(response.Body).Decode(&caller)
	}
	var problem struct {
		Error   errs.Code `json:"error"`
		Message string    `json:"message"`
	}
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
		return caller, err
	}
	return caller, errs.New(problem.Error, problem.Message)
}
