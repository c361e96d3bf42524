// Package gateway is the front door: it knows who is calling, drops what only we may say, and hands the request to the
// service it is for, in this process or in another; the service cannot tell which.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/cookies"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/gateway/internal/federation"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/gateway/internal/oidcop"
	"atelier/internal/gateway/internal/pages"
	"atelier/internal/gateway/internal/rest"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv"
	"atelier/internal/mail"
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
	Keys     *keyring.Ring
	Bus      bus.Log
	Limits   kv.Limiter
	Store    kv.Store // short-lived state that every instance shares
	Blobs    blob.Store
	Mail     *mail.Outbox
	APIKeys  *access.Keys
	Internal string // the internal key
	// Prover knows the other processes of the installation.
	Prover *access.Prover
	// Client makes calls to the outside, guarded.
	Client *http.Client
	// Lookup reads the variables that the file of providers names.
	Lookup func(string) string
	// Services are the handlers of the services behind the gateway: the service itself, or a Remote.
	Services map[Service]http.Handler
	// Modules are what the gateway needs of its own, tried by the readiness report beside the signing keys.
	Modules []readiness.Module
	// Probes report on the services behind the gateway.
	Probes map[Service]rest.Probe
	// Document gives the OpenAPI document of the whole installation, as JSON.
	Document func() ([]byte, error)
}

// Probe reports whether a service behind the gateway is ready.
type Probe = rest.Probe

// Gateway is the running gateway.
type Gateway struct {
	deps     Deps
	identity *identity.Identity
	limits   *limits.Limits
	cookies  cookies.Jar
	csrf     *csrf
	api      *restapi.API
	mux      *http.ServeMux
	// below are the services of what is below a workspace; see handler.
	below map[string]http.Handler
	// federation signs in through external providers.
	federation *federation.Federation
	// oidc is the OpenID Connect provider.
	oidc *oidcop.Provider
	// factors checks second factors and passkeys, pages are what people see.
	factors *factors.Factors
	pages   *pages.Site
	// streams are the requests that go on.
	streams streams
}

// Migrations are the gateway's tables.
func Migrations() sqldb.Migrations { return identity.Migrations() }

// FactorMigrations are the tables of second factors and passkeys, which refer to the gateway's.
func FactorMigrations() sqldb.Migrations { return factors.Migrations() }

// OIDCMigrations are the tables of the OpenID Connect provider, which refer to the gateway's.
func OIDCMigrations() sqldb.Migrations { return oidcop.Migrations() }

// New opens the gateway.
func New(ctx context.Context, deps Deps) (*Gateway, error) {
	g := &Gateway{deps: deps, cookies: cookies.New(deps.Config), api: describe(deps.Log, deps.Clock, deps.DB, int64(deps.Config.RequestMaxSize))}
	if err := g.open(ctx); err != nil {
		return nil, err
	}
	modules := append([]readiness.Module{{Name: "jwks", Driver: deps.DB.Driver(), Check: deps.Keys.Check}}, deps.Modules...)
	rest.Register(g.api, rest.Deps{
		Config: deps.Config, Identity: g.identity, Cookies: g.cookies, Federation: g.federation, OIDC: g.oidc, Factors: g.factors, Pages: g.pages, Blobs: deps.Blobs, CSRF: g.csrf.token, Version: deps.Version, Document: deps.Document,
		Readiness: rest.NewReadiness(deps.Clock, deps.Config.ReadinessCacheTTL, modules, named(deps.Probes)),
	})
	g.mux, g.below = http.NewServeMux(), map[string]http.Handler{}
	g.mux.Handle("/", g.api.Handler())
	for _, route := range Routes() {
		if handler, ok := deps.Services[route.Service]; ok {
			g.mux.Handle(route.Pattern, handler)
			if name, ok := belowWorkspace(route.Pattern); ok {
				g.below[name] = handler
			}
		}
	}
	return g, nil
}

// open makes the gateway's own rooms.
func (g *Gateway) open(ctx context.Context) (err error) {
	deps := g.deps
	g.limits, err = limits.New(limits.Deps{Limiter: deps.Limits, Store: deps.Store, Clock: deps.Clock, Log: deps.Log, Config: deps.Config})
	if err != nil {
		return err
	}
	if g.csrf, err = newCSRF(deps.Internal, deps.Config); err != nil {
		return err
	}
	revocations, err := oidcop.OpenRevocations(ctx, deps.DB, deps.Clock)
	if err != nil {
		return err
	}
	g.identity, err = identity.Open(ctx, identity.Deps{
		DB: deps.DB, Keys: deps.Keys, Log: deps.Bus, Limits: g.limits, Clock: deps.Clock, IDs: deps.IDs, Config: deps.Config,
		Post: g.post, Forget: access.RevokeUser, Revoked: revocations.Has,
		Disown:   func(ctx context.Context, tx *sqldb.Tx, userID string) error { return g.factors.Disown(ctx, tx, userID) },
		TouchKey: func(ctx context.Context, keyID string) error { return deps.APIKeys.Touch(ctx, deps.DB, keyID) },
	})
	if err != nil {
		return err
	}
	if err := g.openFactors(); err != nil {
		return err
	}
	if err := g.openOIDC(revocations); err != nil {
		return err
	}
	return g.openFederation()
}

// openFactors makes what people prove themselves with, and the pages where they do.
func (g *Gateway) openFactors() (err error) {
	deps := g.deps
	g.factors, err = factors.New(factors.Deps{
		DB: deps.DB, Store: deps.Store, Limits: g.limits, Accounts: g.identity, Clock: deps.Clock, IDs: deps.IDs, Config: deps.Config, Key: deps.Internal,
	})
	if err != nil {
		return err
	}
	g.pages, err = pages.New(pages.Options{Passkeys: g.factors.PasskeysPossible()})
	return err
}

func (g *Gateway) openOIDC(revocations *oidcop.Revocations) (err error) {
	deps := g.deps
	g.oidc, err = oidcop.New(oidcop.Deps{
		DB: deps.DB, Bus: deps.Bus, Keys: deps.Keys, Identity: g.identity, Limits: deps.Limits, Revocations: revocations,
		Clock: deps.Clock, IDs: deps.IDs, Config: deps.Config, Errors: g.api.Errors(),
	})
	return err
}

func (g *Gateway) openFederation() error {
	deps := g.deps
	providers, err := federation.Load(deps.Config.AuthProviders, deps.Lookup)
	if err != nil {
		return err
	}
	g.federation = federation.New(federation.Deps{
		Identity: g.identity, Store: deps.Store, Clock: deps.Clock, IDs: deps.IDs, Log: deps.Log, Config: deps.Config, Client: deps.Client,
		Settings: providers,
		OtherWays: func(ctx context.Context) (bool, error) {
			passkeys, err := g.factors.Passkeys(ctx)
			return len(passkeys) > 0, err
		},
	})
	return nil
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

// FollowGrants learns of revoked tokens and removes what clients were granted and has expired, until ctx ends.
func (g *Gateway) FollowGrants(ctx context.Context) error { return g.oidc.Run(ctx) }

// FollowWorkspaces keeps an OpenID Connect client for every workspace, until ctx ends.
func (g *Gateway) FollowWorkspaces(ctx context.Context) error { return g.oidc.Consume(ctx) }

// ServeHTTP authenticates the request and hands it on.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CallersPath {
		g.tellCaller(w, r)
		return
	}
	httpx.StripInternal(r.Header)
	if strings.HasPrefix(r.URL.Path, gitPrefix) {
		w = &asking{ResponseWriter: w}
	}
	principal, err := g.authenticate(r)
	if err != nil && ofSockets(r.URL.Path) && errs.From(err).Status() < http.StatusInternalServerError {
		principal, err = access.Principal{Refused: err}, nil
	}
	if err != nil {
		g.api.Errors().Write(w, r, err)
		return
	}
	ctx := r.Context()
	if principal.Kind != access.Nobody || principal.Refused != nil || principal.SourceWorkspace != "" {
		ctx = access.With(ctx, principal)
		r = r.WithContext(ctx)
	}
	if principal.SourceWorkspace != "" { // a run goes on here
		w.Header()["X-Correlation-Id"] = []string{httpx.InfoFrom(ctx).CorrelationID}
	}
	if path := canonical(r.URL.Path); path != r.URL.Path {
		target := *r.URL
		target.Path, target.RawPath = path, ""
		r = r.WithContext(ctx) // the request of the front stays what the client sent
		r.URL = &target
	}
	release, err := g.limits.Admit(ctx, principal, limits.Call{Method: r.Method, Path: r.URL.Path, Header: w.Header(), Stream: listens(r)})
	defer release()
	if err != nil {
		g.api.Errors().Write(w, r, err)
		return
	}
	if !ofServices(r.URL.Path) {
		g.api.Handler().ServeHTTP(w, r) // the gateway's own, without a second router
		return
	}
	g.csrf.tell(w, r, principal)
	if httpx.Streams(r) || ofSockets(r.URL.Path) && reads(r.Method) { // a poll waits, and what comes then must still be for the caller
		watched, done := g.watch(r, principal)
		defer done()
		r = watched
	}
	g.handler(r).ServeHTTP(w, r)
}

// canonical maps the other spellings of a path to the one the services know: /v3 serves the same operations as /v2, the
// versioning paths of the specification work without a version, and API keys are spelt in either case.
func canonical(path string) string {
	if tail, ok := strings.CutPrefix(path, "/v3/"); ok {
		path = "/v2/" + tail
	}
	if strings.HasPrefix(path, "/workspaces/") {
		path = "/v2" + path
	}
	return spelledKeys(path)
}

var _ http.Handler = (*Gateway)(nil)
