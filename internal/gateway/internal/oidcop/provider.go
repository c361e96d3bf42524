// Package oidcop is the OpenID Connect provider: authorization code with PKCE, refresh tokens that are rotated, the device
// flow, registration of clients, and sign-out. Accounts and sessions belong to package identity; what a client was granted
// is kept here. The tokens it gives out are those of the rest of the installation.
//
// The types and hashes of the protocol come from github.com/zitadel/oidc. Its ready-made provider is not used: it reads the
// wall clock, logs through the global logger, takes credentials from addresses, and matches loopback redirects loosely.
package oidcop

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/gateway/internal/cookies"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the provider's tables. They come after those of the accounts, which they refer to.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "oidc", Files: files}
}

// The lifetimes of what is given out besides access tokens.
const (
	interactionLife = 10 * time.Minute
	codeLife        = 60 * time.Second
	idTokenLife     = time.Hour
	refreshLife     = 24 * time.Hour
	deviceLife      = 10 * time.Minute
)

// Deps is what the provider needs.
type Deps struct {
	DB          *sqldb.DB
	Bus         bus.Log
	Keys        *keyring.Ring
	Identity    *identity.Identity
	Limits      kv.Limiter
	Revocations *Revocations
	Clock       clock.Clock
	IDs         ident.Source
	Config      config.Config
	Errors      httpx.Errors
}

// Provider is the OpenID Connect provider.
type Provider struct {
	deps       Deps
	jar        cookies.Jar
	configured map[string]Client
	// ours refuses requests that another site's page makes a browser send.
	ours *http.CrossOriginProtection
}

// New reads the configured clients; a mistake in them is an error.
func New(deps Deps) (*Provider, error) {
	p := &Provider{deps: deps, jar: cookies.New(deps.Config), ours: http.NewCrossOriginProtection()}
	for _, origin := range append([]string{originOf(deps.Config.Issuer()), originOf(deps.Config.Console())}, deps.Config.CORSOrigins...) {
		if strings.HasPrefix(origin, ".") {
			continue // a whole domain cannot be named here
		}
		if err := p.ours.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	var err error
	p.configured, err = configuredClients(deps.Config)
	return p, err
}

// now is the time as it is stored.
func (p *Provider) now() time.Time { return sqldb.Time(sqldb.Millis(p.deps.Clock.Now())) }

// at is the address of a path of this installation.
func (p *Provider) at(path string) string { return p.deps.Config.Issuer() + path }
