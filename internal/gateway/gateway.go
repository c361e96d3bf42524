// Package gateway is the front door: it knows who is calling, drops what only we may say, and hands the request to the
// service it is for, in this process or in another; the service cannot tell which.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/rest"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/kv"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

// Deps is what the gateway needs.
type Deps struct {
	Config   config.Config
	Version  string
	Log      *slog.Logger
	Clock    clock.Clock
	IDs      ident.Source
	DB       *sqldb.DB
	Bus      bus.Log
	Limits   kv.Limiter
	Internal string // the internal key
	// Services are the handlers of the services behind the gateway: the service itself, or a Remote.
	Services map[Service]http.Handler
	// Modules are what the gateway needs of its own, tried by the readiness report beside the signing keys.
	Modules []readiness.Module
	// Probes report on the services behind the gateway.
	Probes map[Service]rest.Probe
	// Document is the OpenAPI document of the whole installation, as JSON.
	Document []byte
}

// Probe reports whether a service behind the gateway is ready.
type Probe = rest.Probe

// Gateway is the running gateway.
type Gateway struct {
	deps     Deps
	identity *identity.Identity
	api      *restapi.API
	mux      *http.ServeMux
}

// Migrations are the gateway's tables.
func Migrations() sqldb.Migrations { return identity.Migrations() }

// New opens the gateway.
func New(ctx context.Context, deps Deps) (*Gateway, error) {
	who, err := identity.Open(ctx, identity.Deps{
		DB: deps.DB, Log: deps.Bus, Limits: deps.Limits, Clock: deps.Clock, IDs: deps.IDs, Config: deps.Config,
	})
	if err != nil {
		return nil, err
	}
	g := &Gateway{deps: deps, identity: who, api: describe(deps.Log, deps.Clock, deps.DB, int64(deps.Config.RequestMaxSize))}
	modules := append([]readiness.Module{{Name: "jwks", Driver: deps.DB.Driver(), Check: who.CheckKeys}}, deps.Modules...)
	rest.Register(g.api, rest.Deps{
		Identity: who, Version: deps.Version, Document: deps.Document,
		Readiness: rest.NewReadiness(deps.Clock, deps.Config.ReadinessCacheTTL, modules, named(deps.Probes)),
	})
	g.mux = http.NewServeMux()
	g.mux.Handle("/", g.api.Handler())
	for _, route := range Routes() {
		if handler, ok := deps.Services[route.Service]; ok {
			g.mux.Handle(route.Pattern, handler)
		}
	}
	return g, nil
}

// Describe returns the gateway's API without a gateway, for the OpenAPI document.
func Describe() *restapi.API {
	api := describe(slog.New(slog.DiscardHandler), clock.System{}, nil, 0)
	rest.Register(api, rest.Deps{})
	return api
}

func describe(log *slog.Logger, clk clock.Clock, db *sqldb.DB, maxBody int64) *restapi.API {
	return restapi.New(restapi.Config{Service: "gateway", Log: log, Clock: clk, DB: db, MaxBody: maxBody})
}

func named(probes map[Service]rest.Probe) map[string]rest.Probe {
	byName := make(map[string]rest.Probe, len(probes))
	for service, probe := range probes {
		byName[string(service)] = probe
	}
	return byName
}

// EnsureAdmin makes a super admin when there is none, and returns the password when one had to be invented.
func (g *Gateway) EnsureAdmin(ctx context.Context) (invented string, err error) {
	return g.identity.EnsureAdmin(ctx)
}

// Sweep removes sessions and passing accounts that have expired, until ctx ends.
func (g *Gateway) Sweep(ctx context.Context) error { return g.identity.Sweep(ctx, g.deps.Log) }

// ServeHTTP authenticates the request and hands it on.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpx.StripInternal(r.Header)
	principal, err := g.authenticate(r)
	if err != nil {
		g.api.Errors().Write(w, r, err)
		return
	}
	ctx := r.Context()
	if principal.Kind != access.Nobody {
		ctx = access.With(ctx, principal)
	}
	r = r.WithContext(ctx)
	if path := canonical(r.URL.Path); path != r.URL.Path {
		target := *r.URL
		target.Path, target.RawPath = path, ""
		r.URL = &target
	}
	if !strings.HasPrefix(r.URL.Path, servicesPrefix) {
		g.api.Handler().ServeHTTP(w, r) // the gateway's own, without a second router
		return
	}
	g.mux.ServeHTTP(w, r)
}

// canonical maps the other spellings of a path to the one the services know: /v3 serves the same operations as /v2, and the
// versioning paths of the specification work without a version.
func canonical(path string) string {
	if tail, ok := strings.CutPrefix(path, "/v3/"); ok {
		return "/v2/" + tail
	}
	if strings.HasPrefix(path, "/workspaces/") {
		return "/v2" + path
	}
	return path
}

var _ http.Handler = (*Gateway)(nil)
