// Package federation signs people in who are known to an external OpenID Connect provider. The operator's file says which
// providers there are; a provider is asked for the first time when somebody uses it, so one that is down stops nobody else.
//
// A person is known by issuer and subject, never by an address: an account is linked to a provider when the provider made it,
// or when its owner, signed in, asks for the link.
package federation

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/ident"
	"atelier/internal/kv"
)

// Deps is what federation needs.
type Deps struct {
	Identity *identity.Identity
	// Store keeps sign-ins that are under way.
	Store  kv.Store
	Clock  clock.Clock
	IDs    ident.Source
	Log    *slog.Logger
	Config config.Config
	// Client is the guarded client for outbound calls. A provider in a private network is reached only when
	// EGRESS_ALLOWED_NETWORKS allows that network: what a provider's document says is followed, and it may not lead inside.
	Client *http.Client
	// Settings are the providers.
	Settings []Settings
	// OtherWays tells whether the caller can sign in in a way that identity does not know of, such as a passkey; may be nil.
	OtherWays func(ctx context.Context) (bool, error)
}

// Federation is the external providers of the installation. It is safe for concurrent use.
type Federation struct {
	deps      Deps
	providers []*provider
}

// New knows the providers; none of them is asked yet.
func New(deps Deps) *Federation {
	f := &Federation{deps: deps}
	client := bounded(deps.Client)
	for _, s := range deps.Settings {
		f.providers = append(f.providers, newProvider(s, client, deps.Clock))
	}
	return f
}

// Providers lists the providers in the order of the file.
func (f *Federation) Providers() []Settings {
	all := make([]Settings, 0, len(f.providers))
	for _, p := range f.providers {
		all = append(all, p.Settings)
	}
	return all
}

// ByDomain finds the provider for the people of a mail domain.
func (f *Federation) ByDomain(domain string) (slug string, found bool) {
	for _, p := range f.providers {
		if slices.Contains(p.Domains, strings.ToLower(domain)) {
			return p.Slug, true
		}
	}
	return "", false
}

func (f *Federation) provider(slug string) (*provider, error) {
	for _, p := range f.providers {
		if p.Slug == slug {
			return p, nil
		}
	}
	return nil, errs.Missing("providers", slug)
}

// callback is the address providers send people back to.
func (f *Federation) callback() string { return f.deps.Config.PublicURL() + "/login/callback" }

// FlowEnds is when a sign-in that begins now can no longer be finished.
func (f *Federation) FlowEnds() time.Time { return f.deps.Clock.Now().Add(FlowLife) }

// Unlink removes the caller's link to a provider, unless it is the last way to sign in to the account.
func (f *Federation) Unlink(ctx context.Context, slug string) error {
	others := false
	if f.deps.OtherWays != nil {
		var err error
		if others, err = f.deps.OtherWays(ctx); err != nil {
			return err
		}
	}
	return f.deps.Identity.DeleteLink(ctx, slug, others)
}
