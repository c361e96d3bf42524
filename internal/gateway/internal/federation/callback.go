package federation

import (
	"context"
	"errors"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// Callback is what comes back from a provider with the browser.
type Callback struct {
	Code, State, Issuer, Error string
	// Browser is the secret the browser left with.
	Browser string
}

// Arrival is how a sign-in ended.
type Arrival struct {
	// Location is where the browser goes next.
	Location string
	// SignedIn is the session that began; nil when none did: the sign-in was refused, or a link was made.
	SignedIn *identity.SignedIn
}

// The reasons that the sign-in page is given in the parameter error.
const (
	reasonDenied      = "provider_denied"
	reasonRefused     = "provider_refused"
	reasonUnavailable = "provider_unavailable"
	reasonToken       = "token_invalid"
	reasonFailed      = "failed"
)

// reasons are those of the accounts, by the type of their error.
func reasons() map[any]string {
	return map[any]string{
		identity.RefusedStranger: "signup_closed", identity.RefusedEmail: "email_taken", identity.RefusedAccount: "account_disabled",
		identity.RefusedLink: "link_taken", identity.RefusedSecond: "link_exists", identity.RefusedSession: "session_ended",
	}
}

// Finish ends a sign-in. What does not belong to one that this browser began is an error; what goes wrong in one that does
// leads to the sign-in page, with a reason.
func (f *Federation) Finish(ctx context.Context, back Callback) (Arrival, error) {
	made, stored, err := f.find(ctx, back.State, back.Browser)
	if err != nil {
		if made.Provider != "" {
			err = errors.Join(err, f.deps.Identity.RecordRefusal(ctx, made.Provider, "other_browser"))
		}
		return Arrival{}, err
	}
	if err := f.take(ctx, back.State, stored); err != nil {
		return Arrival{}, err
	}
	p, err := f.provider(made.Provider)
	if err != nil {
		return Arrival{}, err
	}
	known, err := p.metadata(ctx)
	if err != nil {
		return f.refuse(ctx, made, refusal{reasonUnavailable, err})
	}
	if back.Issuer != "" && back.Issuer != p.Issuer || back.Issuer == "" && known.namesIssuer {
		mixed := errs.New(errs.InvalidRequest, "The answer is not of the provider that was asked; begin again.")
		return Arrival{}, errors.Join(mixed, f.deps.Identity.RecordRefusal(ctx, p.Slug, "other_issuer"))
	}
	if back.Error == "access_denied" {
		return f.refuse(ctx, made, refusal{reason: reasonDenied})
	}
	if back.Error != "" || back.Code == "" {
		return f.refuse(ctx, made, refusal{reason: reasonRefused})
	}
	who, err := f.redeem(ctx, p, known, made, back.Code)
	if err != nil {
		return f.refuse(ctx, made, err)
	}
	return f.admit(ctx, made, who)
}

// refusal is why a sign-in failed: a word for the page, a cause for the log.
type refusal struct {
	reason string
	cause  error
}

// Error implements error.
func (r refusal) Error() string {
	if r.cause != nil {
		return r.reason + ": " + r.cause.Error()
	}
	return r.reason
}

// Unwrap gives the cause.
func (r refusal) Unwrap() error { return r.cause }

// redeem exchanges the code for an ID token and verifies it.
func (f *Federation) redeem(ctx context.Context, p *provider, known *metadata, made flow, code string) (person, error) {
	got, err := p.oauth(known, f.callback()).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(made.Verifier))
	if err != nil {
		if _, answered := errors.AsType[*oauth2.RetrieveError](err); answered {
			return person{}, refusal{reasonRefused, brief(err)}
		}
		return person{}, refusal{reasonUnavailable, brief(err)}
	}
	token, _ := got.Extra("id_token").(string)
	if token == "" {
		return person{}, refusal{reasonToken, errors.New("there is no ID token")}
	}
	who, err := p.verify(ctx, known, token, wanted{audiences: []string{p.ClientID}, nonce: made.Nonce, access: got.AccessToken})
	switch {
	case unreadableKeys(err):
		return who, refusal{reasonUnavailable, err}
	case err != nil:
		return who, refusal{reasonToken, err}
	}
	return who, nil
}

// admit opens the session, or makes the link that was asked for.
func (f *Federation) admit(ctx context.Context, made flow, who person) (Arrival, error) {
	if made.Session != "" {
		if err := f.deps.Identity.AddLink(ctx, made.Session, who.link()); err != nil {
			return f.refuse(ctx, made, err)
		}
		return Arrival{Location: f.accountPage("linked", made.Provider)}, nil
	}
	signed, err := f.deps.Identity.SignInLinked(ctx, who.signIn(0, true))
	if err != nil {
		return f.refuse(ctx, made, err)
	}
	return Arrival{Location: f.destination(made), SignedIn: &signed}, nil
}

// destination is where somebody goes who has signed in.
func (f *Federation) destination(made flow) string {
	switch {
	case made.Interaction != "":
		return f.deps.Config.Issuer() + "/oidc/auth/" + made.Interaction
	case made.ReturnTo != "" && made.Here:
		return f.deps.Config.Issuer() + made.ReturnTo
	case made.ReturnTo != "":
		return f.deps.Config.Console() + made.ReturnTo
	default:
		return f.deps.Config.Console() + "/account"
	}
}

func (f *Federation) accountPage(name, value string) string {
	return f.deps.Config.Console() + "/account?" + url.Values{name: {value}}.Encode()
}

// refuse records that the sign-in failed and gives the page that says why. A fault of ours stays an error.
func (f *Federation) refuse(ctx context.Context, made flow, err error) (Arrival, error) {
	reason := reasonFailed
	if own, ok := errors.AsType[refusal](err); ok {
		reason = own.reason
	} else if own, ok := errors.AsType[*errs.Error](err); ok {
		if known, ok := reasons()[own.Details["type"]]; ok {
			reason = known
		}
	}
	if reason == reasonFailed {
		return Arrival{}, err
	}
	f.deps.Log.WarnContext(ctx, "a sign-in through a provider was refused", "provider", made.Provider, "reason", reason, "error", err.Error())
	if err := f.deps.Identity.RecordRefusal(ctx, made.Provider, reason); err != nil {
		return Arrival{}, err
	}
	if made.Session != "" {
		return Arrival{Location: f.accountPage("error", reason)}, nil
	}
	return Arrival{Location: f.signinPage(made, reason)}, nil
}

func (f *Federation) signinPage(made flow, reason string) string {
	address := f.deps.Config.SigninPage()
	if made.Here {
		address = f.deps.Config.Issuer() + "/signin"
	}
	page, err := url.Parse(address)
	if err != nil {
		return f.deps.Config.Console() + "/signin"
	}
	query := page.Query()
	query.Set("error", reason)
	query.Set("provider", made.Provider)
	if made.Interaction != "" {
		query.Set("interaction", made.Interaction)
	}
	if made.ReturnTo != "" {
		query.Set("return_to", made.ReturnTo)
	}
	page.RawQuery = query.Encode()
	return page.String()
}
