package app

import (
	"context"
	"net/http"
	"sync"

	"atelier/internal/gateway"
	"atelier/internal/lifecycle"
	"atelier/internal/mail"
	"atelier/internal/readiness"
)

func buildGateway(ctx context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	document := sync.OnceValues(func() ([]byte, error) { // few ask for it, and making it takes longer than the rest of a start
		made, err := OpenAPI(opts.Version, opts.Config.Issuer())
		if err != nil {
			return nil, err
		}
		return made.JSON, nil
	})
	keys, err := s.keys(ctx)
	if err != nil {
		return err
	}
	handlers := map[gateway.Service]http.Handler{}
	probes := map[gateway.Service]gateway.Probe{}
	for service, address := range s.addresses() {
		if local, ok := s.built[string(service)]; ok {
			handlers[service], probes[service] = local.handler, s.localProbe(local)
			continue
		}
		remote, err := gateway.NewRemote(gateway.RemoteConfig{
			Service: service, URL: address, Prover: p.prover, Log: opts.Log, Inject: p.inject(), TLS: p.egress.TLSConfig(),
		})
		if err != nil {
			return err
		}
		p.keep("connections to "+string(service), func(context.Context) error { remote.Close(); return nil })
		handlers[service], probes[service] = remote, s.remoteProbe(service, address)
	}
	outbox, err := mail.NewOutbox(mail.OutboxDeps{DB: p.db, Sender: p.mail, Clock: opts.Clock, IDs: opts.IDs, Log: opts.Log, Key: p.internalKey})
	if err != nil {
		return err
	}
	s.gateway, err = gateway.New(ctx, gateway.Deps{
		Config: opts.Config, Version: opts.Version, Log: opts.Log, Clock: opts.Clock, IDs: opts.IDs, DB: p.db, Keys: keys, Bus: p.bus, Limits: p.limiter(),
		Store: p.sessions, Blobs: p.blobs, APIKeys: p.apiKeys, Mail: outbox, Internal: p.internalKey, Prover: p.prover, Client: p.egress.Client(), Lookup: opts.Lookup, Services: handlers, Probes: probes, Document: document,
		Modules: []readiness.Module{
			{Name: "database", Driver: p.db.Driver(), Check: p.db.Ping},
			{Name: "sessionsRedis", Driver: p.sessions.Driver(), Check: p.sessions.Ping},
			{Name: "rateLimitsRedis", Driver: p.limits.Driver(), Check: p.limits.Ping},
			{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		},
	})
	if err != nil {
		return err
	}
	s.app.group.Add(
		lifecycle.Worker("revoked and expired grants", s.gateway.FollowGrants), lifecycle.Worker("clients of workspaces", s.gateway.FollowWorkspaces),
	)
	s.app.group.Add(lifecycle.Worker("callers of streams", s.gateway.FollowStreams))
	s.app.group.Add(lifecycle.Worker("sweep of sessions", s.gateway.Sweep), lifecycle.Worker("outbox of mails", outbox.Run))
	s.app.invented, err = s.gateway.EnsureAdmin(ctx)
	return err
}
