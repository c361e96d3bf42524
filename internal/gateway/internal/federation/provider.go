package federation

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"atelier/internal/clock"
	"atelier/internal/errs"
)

const (
	// metadataLife is how long what a provider says of itself is believed before it is asked again.
	metadataLife = time.Hour
	// metadataGrace is how much longer it is believed while the provider cannot be asked.
	metadataGrace = 24 * time.Hour
	// retryPause keeps a provider that is down from holding everyone for the length of a timeout.
	retryPause = 5 * time.Second
)

// provider is a provider and what it said of itself.
type provider struct {
	Settings
	client *http.Client
	clock  clock.Clock

	asking singleflight.Group
	known  atomic.Pointer[metadata]
	failed atomic.Pointer[failure]
}

// metadata is where a provider is reached.
type metadata struct {
	endpoint oauth2.Endpoint
	keys     *keySet
	// namesIssuer tells that the provider names itself in every callback.
	namesIssuer bool
	readAt      time.Time
}

type failure struct {
	at    time.Time
	cause error
}

func newProvider(s Settings, client *http.Client, clk clock.Clock) *provider {
	return &provider{Settings: s, client: client, clock: clk}
}

// metadata gives what is known of the provider, asking it when that is old; service_unavailable when it cannot be asked.
func (p *provider) metadata(ctx context.Context) (*metadata, error) {
	now := p.clock.Now()
	known := p.known.Load()
	if known != nil && now.Sub(known.readAt) < metadataLife {
		return known, nil
	}
	if failed := p.failed.Load(); failed == nil || now.Sub(failed.at) >= retryPause {
		fresh, err := p.ask(ctx)
		if err == nil {
			return fresh, nil
		}
		p.failed.Store(&failure{at: p.clock.Now(), cause: err})
	}
	if known != nil && now.Sub(known.readAt) < metadataLife+metadataGrace {
		return known, nil
	}
	return nil, p.unavailable(p.failed.Load().cause)
}

func (p *provider) unavailable(cause error) error {
	return errs.Newf(errs.Unavailable, "The sign-in provider %s cannot be reached right now; try again shortly or sign in another way.", p.Slug).
		WithRetryAfter(retryPause).Because(brief(cause))
}

// ask reads the provider's metadata once for all who wait. It is not cut short when one of them leaves.
func (p *provider) ask(ctx context.Context) (*metadata, error) {
	result, err, _ := p.asking.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		fresh, err := p.discover(oidc.ClientContext(ctx, p.client))
		if err != nil {
			return nil, err
		}
		fresh.readAt = p.clock.Now()
		if old := p.known.Load(); old != nil && old.keys.url == fresh.keys.url {
			fresh.keys = old.keys // what was learnt about its keys stays
		}
		p.known.Store(fresh)
		return fresh, nil
	})
	if err != nil {
		return nil, err
	}
	fresh, _ := result.(*metadata)
	return fresh, nil
}

// discover reads the provider's own document, unless the configuration says everything.
func (p *provider) discover(ctx context.Context) (*metadata, error) {
	if p.KeysURL != "" {
		return &metadata{
			endpoint: oauth2.Endpoint{AuthURL: p.AuthURL, TokenURL: p.TokenURL, AuthStyle: p.authStyle(nil)},
			keys:     newKeySet(p.KeysURL, p.client, p.clock),
		}, nil
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		KeysURL     string   `json:"jwks_uri"`
		NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := found.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.KeysURL} {
		if !secureURL(address) {
			return nil, errors.New("the provider's document names an address that is missing or not safe")
		}
	}
	endpoint.AuthStyle = p.authStyle(more.AuthMethods)
	return &metadata{endpoint: endpoint, keys: newKeySet(more.KeysURL, p.client, p.clock), namesIssuer: more.NamesIssuer}, nil
}

// authStyle chooses how to prove who we are. It is never tried out: a code is good for one attempt.
func (p *provider) authStyle(supported []string) oauth2.AuthStyle {
	switch {
	case p.ClientSecret == "" || p.AuthMethod == authPost || p.AuthMethod == authNone:
		return oauth2.AuthStyleInParams
	case p.AuthMethod == "" && slices.Contains(supported, authPost) && !slices.Contains(supported, authBasic):
		return oauth2.AuthStyleInParams
	default:
		return oauth2.AuthStyleInHeader
	}
}

// oauth is the library's view of the provider.
func (p *provider) oauth(known *metadata, callback string) *oauth2.Config {
	secret := p.ClientSecret.Reveal()
	if p.AuthMethod == authNone {
		secret = ""
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: secret, Endpoint: known.endpoint, RedirectURL: callback, Scopes: p.Scopes}
}
