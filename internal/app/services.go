package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"atelier/internal/access"
	"atelier/internal/gateway"
	"atelier/internal/readiness"
)

// services are those of this process, while they are being put together.
type services struct {
	app     *App
	built   map[string]*built
	gateway *gateway.Gateway
}

// built is a service of this process.
type built struct {
	handler http.Handler
	checker *readiness.Checker
}

// add notes a service for the gateway, or for the listener when the gateway is elsewhere.
func (s *services) add(name string, handler http.Handler, checker *readiness.Checker) {
	s.built[name] = &built{handler: handler, checker: checker}
}

// checker tries the modules of a service.
func (s *services) checker(modules ...readiness.Module) *readiness.Checker {
	return readiness.NewChecker(s.app.opts.Clock, s.app.opts.Config.ReadinessCacheTTL, modules...)
}

// handler is what the listener serves: the gateway when it is here, otherwise the services themselves.
func (s *services) handler() http.Handler {
	if s.gateway != nil {
		return s.gateway
	}
	mux := http.NewServeMux()
	var last http.Handler
	for name, service := range s.built {
		mux.Handle(readiness.Path(name), service.handler)
		last = service.handler
		for _, route := range gateway.Routes() {
			if string(route.Service) == name {
				mux.Handle(route.Pattern, service.handler)
			}
		}
	}
	mux.Handle("/", last) // answers what does not exist the way every service does
	return mux
}

// addresses are where services are found when they run elsewhere.
func (s *services) addresses() map[gateway.Service]string {
	cfg := s.app.opts.Config
	return map[gateway.Service]string{
		gateway.Workspaces: cfg.WorkspacesAPIURL, gateway.Events: cfg.EventsAPIURL, gateway.Runtime: cfg.RuntimeAPIURL,
	}
}

// gatewayModule tells whether the gateway can be reached, for the services behind it. A gateway in the same process is: it
// is what asks.
func (s *services) gatewayModule() readiness.Module {
	if !s.app.opts.Config.SplitServices() {
		return readiness.Module{Name: "gateway", Driver: "in-process", Check: func(context.Context) error { return nil }}
	}
	client, address := s.app.parts.inside(), strings.TrimSuffix(s.app.opts.Config.InternalURL(), "/v2")+"/healthz"
	return readiness.Module{Name: "gateway", Driver: "http", Check: func(ctx context.Context) error {
		return expectOK(ctx, client, address)
	}}
}

// remoteProbe asks a service in another process for its report, with the gateway's proof.
func (s *services) remoteProbe(service gateway.Service, base string) gateway.Probe {
	client := s.app.parts.inside()
	return gateway.Probe{URL: base, Report: func(ctx context.Context) (report readiness.Report, err error) {
		target, err := url.JoinPath(base, readiness.Path(string(service)))
		if err != nil {
			return report, err
		}
		ctx = access.With(ctx, access.Principal{Kind: access.Internal})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return report, err
		}
		if err := s.app.parts.prover.Prove(ctx, r); err != nil {
			return report, err
		}
		response, err := client.Do(r)
		if err != nil {
			return report, err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return report, fmt.Errorf("it answered with status %d", response.StatusCode)
		}
		return report, json.NewDecoder(response.Body).Decode(&report)
	}}
}

// localProbe asks a service of this process.
func (s *services) localProbe(service *built) gateway.Probe {
	return gateway.Probe{URL: s.app.opts.Config.Issuer(), Report: service.checker.Report}
}

func expectOK(ctx context.Context, client *http.Client, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered with status %d", response.StatusCode)
	}
	return nil
}
