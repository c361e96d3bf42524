package app

import (
	"context"
	"net/http"
	"net/url"

	automation "atelier/internal/automation/service"
	"atelier/internal/gateway"
	"atelier/internal/readiness"
	workspaces "atelier/internal/workspaces/service"
)

func buildRuntime(ctx context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	keys, err := s.keys(ctx)
	if err != nil {
		return err
	}
	clk, err := p.sharedClock(ctx)
	if err != nil {
		return err
	}
	platform, err := p.platform()
	if err != nil {
		return err
	}
	checker := s.checker(
		readiness.Module{Name: "cache", Driver: p.sessions.Driver(), Check: p.sessions.Ping},
		readiness.Module{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		readiness.Module{Name: "permissions", Driver: p.db.Driver(), Check: p.db.Ping},
		readiness.Module{Name: "collections", Driver: p.db.Driver(), Check: p.db.Ping},
		readiness.Module{Name: "dsul", Driver: p.blobs.Driver(), Check: p.blobs.Ping},
		s.gatewayModule(),
	)
	deps := automation.Deps{
		Config: opts.Config, Log: opts.Log, Clock: clk, IDs: opts.IDs, DB: p.db, Bus: p.bus, Access: p.access, Keys: keys, Vault: p.vault, Limiter: p.limiter(), Network: p.egress, Platform: platform,
		Checker: checker, People: gateway.NewDirectory(opts.Config), Resolve: workspaces.Resolve, Known: workspaces.Known, Environ: opts.Environ, Alone: p.embedded() && p.db.Driver() == "sqlite", Worker: opts.Worker,
		Definitions: workspaces.NewDefinitions(workspaces.DefinitionsDeps{
			DB: p.db, Bus: p.bus, Clock: clk, IDs: opts.IDs, Access: p.access, Vault: p.vault, Environ: opts.Environ, EventMaxLen: opts.Config.EventMaxLen,
		}),
	}
	if p.tracing != nil {
		deps.Tracer = p.tracing.Tracer()
	}
	service, err := automation.New(deps)
	if err != nil {
		return err
	}
	s.app.group.Add(service.Parts()...)
	s.add("runtime", service.API.Handler(), checker)
	return nil
}

// platform reaches the API of the installation for automations: at the address at which services reach the gateway.
func (p *parts) platform() (http.RoundTripper, error) {
	inside, err := url.Parse(p.opts.Config.InternalURL())
	if err != nil {
		return nil, err
	}
	return &inward{to: inside, via: p.trusting()}, nil
}

// inward sends requests to another host than they name.
type inward struct {
	to  *url.URL
	via http.RoundTripper
}

// RoundTrip sends one request.
func (i *inward) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.URL.Scheme, sent.URL.Host = i.to.Scheme, i.to.Host
	return i.via.RoundTrip(sent)
}
