package oidcop

import (
	"context"
	"net/http"
	"net/url"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// authorize begins an authorization: it ends at once for a browser that is signed in, otherwise with a person.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	params, err := readParams(w, r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	c, address, err := p.target(r.Context(), params)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	req, f := p.validate(r.Context(), c, params)
	if f != nil {
		p.sendBack(w, r, address, params.Get("state"), f)
		return
	}
	if again := p.at("/oidc/auth?" + params.Encode()); r.Method == http.MethodPost && p.jar.Browser(r) == "" && len(again) < maxAddress {
		p.redirect(w, r, again) // a form of another site comes without the browser's cookie; what it leads to does not
		return
	}
	p.proceed(w, r, c, interaction{Request: req, Created: p.now()})
}

// resume continues an authorization after a person did something.
func (p *Provider) resume(w http.ResponseWriter, r *http.Request) {
	in, c, err := p.findInteraction(r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	p.proceed(w, r, c, in)
}

// proceed gives the client its code, or sends the browser to the person who has to do something first.
func (p *Provider) proceed(w http.ResponseWriter, r *http.Request, c Client, in interaction) {
	browser, err := p.browser(r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	missing, err := p.missing(r.Context(), c, in, browser)
	switch {
	case err != nil:
		p.sendBack(w, r, in.Request.RedirectURI, in.Request.State, err)
	case missing == nothing:
		p.complete(w, r, in, browser)
	case in.Request.prompts(oidc.PromptNone):
		p.sendBack(w, r, in.Request.RedirectURI, in.Request.State, fail(string(missing)+"_required", "The person has to do something first."))
	default:
		p.ask(w, r, in)
	}
}

// maxAddress is how long an address may be that a browser is sent to, at least here.
const maxAddress = 7 << 10

// step is what a person has to do before a client gets its code.
type step string

const (
	nothing     step = ""
	needLogin   step = "login"
	needConsent step = "consent"
)

// missing tells what has to happen before the client gets its code.
func (p *Provider) missing(ctx context.Context, c Client, in interaction, browser identity.Browser) (step, error) {
	if browser.User.ID == "" || browser.Pending {
		return needLogin, nil
	}
	// whoever signs in after the request began has done what prompt and max_age ask for
	anew := in.ID != "" && !browser.Session.Created.Before(in.Created)
	req := in.Request
	switch {
	case req.Subject != "" && req.Subject != browser.User.ID && anew:
		return nothing, fail("login_required", "Somebody else signed in than the id_token_hint says.")
	case req.Subject != "" && req.Subject != browser.User.ID:
		return needLogin, nil
	case !anew && (req.prompts(oidc.PromptLogin) || req.prompts(oidc.PromptSelectAccount) || req.tooOld(browser.Session.Created, p.now())):
		return needLogin, nil
	case in.ConsentedBy == browser.User.ID || c.FirstParty && !p.onOwnMachine(c, req.RedirectURI):
		return nothing, nil
	case c.FirstParty || req.prompts(oidc.PromptConsent):
		return needConsent, nil
	}
	given, err := p.hasConsent(ctx, browser.User.ID, req)
	if err != nil || given {
		return nothing, err
	}
	return needConsent, nil
}

// onOwnMachine tells that a code of the console would go to some program on the person's own machine. Any program there can
// listen, so the person is asked every time.
func (p *Provider) onOwnMachine(c Client, address string) bool {
	_, _, loopback := cutLoopback(address)
	return c.ID == p.deps.Config.StudioClientID && loopback && originOf(address) != originOf(p.deps.Config.Issuer()) &&
		originOf(address) != originOf(p.deps.Config.Console())
}

// browser tells who is signed in in the browser; nobody is not an error.
func (p *Provider) browser(r *http.Request) (identity.Browser, error) {
	secret := p.jar.Browser(r)
	if secret == "" {
		return identity.Browser{}, nil
	}
	browser, err := p.deps.Identity.FindBrowser(r.Context(), secret)
	if errs.CodeOf(err) == errs.InvalidToken || browser.User.Anonymous {
		return identity.Browser{}, nil
	}
	return browser, err
}

// complete sends the client its code.
func (p *Provider) complete(w http.ResponseWriter, r *http.Request, in interaction, browser identity.Browser) {
	ctx := r.Context()
	code := p.deps.IDs.Secret()
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if in.ID != "" {
			if err := p.finish(ctx, tx, in.ID); err != nil {
				return err
			}
		}
		return p.insertCode(ctx, tx, code, in.Request, browser)
	})
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	p.send(w, r, in.Request.RedirectURI, url.Values{"code": {code}}, in.Request.State)
}

// sendBack sends the browser back to the client with an error.
func (p *Provider) sendBack(w http.ResponseWriter, r *http.Request, address, state string, err error) {
	p.send(w, r, address, p.inWords(r, err).params(), state)
}

func (f *failure) params() url.Values {
	return url.Values{"error": {f.Code}, "error_description": {f.Description}}
}

// send sends the browser to the client. The answer says who gives it, so that a client of several providers cannot be
// made to take it for another's.
func (p *Provider) send(w http.ResponseWriter, r *http.Request, address string, params url.Values, state string) {
	p.redirect(w, r, p.reply(address, params, state))
}

func (p *Provider) reply(address string, params url.Values, state string) string {
	params.Set("iss", p.deps.Config.Issuer())
	if state != "" {
		params.Set("state", state)
	}
	return withParams(address, params)
}

// redirect has the browser follow with a GET, without telling where it comes from.
func (p *Provider) redirect(w http.ResponseWriter, _ *http.Request, address string) {
	w.Header().Set("Location", address)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}
