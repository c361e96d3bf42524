package federation

import (
	"context"
	"errors"
	"time"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// Exchange asks for a session in exchange for a token of a provider.
type Exchange struct {
	Provider string
	Token    string
	// Life is how long the session lasts; zero means as long as tokens do.
	Life time.Duration
}

// Exchange opens a session for the person a provider's token is about: an ID token, or an access token that is a JWT, meant for
// us or for one of the audiences of the configuration. A token may be exchanged again until it expires.
func (f *Federation) Exchange(ctx context.Context, in Exchange) (identity.SignedIn, error) {
	p, err := f.provider(in.Provider)
	if err != nil {
		return identity.SignedIn{}, err
	}
	if !p.AllowTokenExchange {
		return identity.SignedIn{}, errs.New(errs.PermissionDenied, "Tokens of this provider cannot be exchanged; the operator allows it with allowTokenExchange.")
	}
	known, err := p.metadata(ctx)
	if err != nil {
		return identity.SignedIn{}, err
	}
	who, err := p.verify(ctx, known, in.Token, wanted{audiences: append([]string{p.ClientID}, p.Audiences...)})
	switch {
	case unreadableKeys(err):
		return identity.SignedIn{}, p.unavailable(err)
	case err != nil:
		refused := errs.New(errs.InvalidToken, "The subject token is not a valid token of this provider for this installation.").Because(err)
		return identity.SignedIn{}, errors.Join(refused, f.deps.Identity.RecordRefusal(ctx, p.Slug, reasonToken))
	}
	signed, err := f.deps.Identity.SignInLinked(ctx, who.signIn(min(in.Life, f.deps.Config.AccessTokensMaxAge), false))
	if own, ok := errors.AsType[*errs.Error](err); ok {
		if reason, ok := reasons()[own.Details["type"]]; ok {
			return signed, errors.Join(err, f.deps.Identity.RecordRefusal(ctx, p.Slug, reason))
		}
	}
	return signed, err
}
