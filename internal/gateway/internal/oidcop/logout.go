package oidcop

import (
	"context"
	"net/http"
	"net/url"

	"atelier/internal/access"
	"atelier/internal/gateway/internal/identity"
)

// farewell is a valid request to sign out.
type farewell struct {
	// Address is where the browser goes afterwards; empty when the client did not say.
	Address, State string
	// ClientID is who asks; empty when nobody can tell.
	ClientID string
	// Subject is whom the client's ID token names; empty when it sent none.
	Subject string
}

// endSession signs the browser out. A client that knows who is signed in may do so at once; otherwise the person is asked,
// because a link on any page could lead here.
func (p *Provider) endSession(w http.ResponseWriter, r *http.Request) {
	params, err := readParams(w, r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	bye, err := p.readFarewell(r.Context(), params)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	browser, err := p.browser(r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	known := browser.User.ID == "" || bye.Subject == browser.User.ID
	confirmed := r.Method == http.MethodPost && p.sameSite(r) == nil
	if !known && !confirmed {
		p.confirm(w, r, bye)
		return
	}
	if err := p.signOut(r.Context(), browser); err != nil {
		p.refusePerson(w, r, err)
		return
	}
	for _, cookie := range append(p.jar.Clear(), p.jar.Drop(p.cookieName())) {
		http.SetCookie(w, cookie)
	}
	p.redirect(w, r, p.after(bye))
}

// readFarewell finds out which client asks, and whether it may have the browser sent where it says. An ID token that cannot
// be verified, because its key is gone for example, says nothing; whoever sits there can still sign out.
func (p *Provider) readFarewell(ctx context.Context, params url.Values) (bye farewell, err error) {
	bye = farewell{ClientID: params.Get("client_id"), Address: params.Get("post_logout_redirect_uri"), State: params.Get("state")}
	if len(bye.State) > maxState {
		return bye, badRequest("state has at most 2048 characters.")
	}
	if token := params.Get("id_token_hint"); token != "" {
		known, ok := p.readHint(ctx, token)
		switch {
		case ok && bye.ClientID != "" && bye.ClientID != known.ClientID:
			return bye, badRequest("The id_token_hint is an ID token for another client.")
		case ok:
			bye.ClientID, bye.Subject = known.ClientID, known.Subject
		case bye.ClientID == "":
			return farewell{}, nil
		}
	}
	if bye.Address == "" {
		return bye, nil
	}
	if bye.ClientID == "" {
		return bye, badRequest("post_logout_redirect_uri needs a client_id or an id_token_hint.")
	}
	c, err := p.client(ctx, bye.ClientID)
	if isBadClient(err) || err == nil && !c.allowsFarewell(bye.Address) {
		return bye, badRequest("The post_logout_redirect_uri is none of those that the client registered.")
	}
	return bye, err
}

// confirm asks the person, with a form that says the same again without the ID token.
func (p *Provider) confirm(w http.ResponseWriter, r *http.Request, bye farewell) {
	fields := map[string]string{}
	for name, value := range map[string]string{"client_id": bye.ClientID, "post_logout_redirect_uri": bye.Address, "state": bye.State} {
		if value != "" {
			fields[name] = value
		}
	}
	if err := show(w, http.StatusOK, shownNotice{
		Title: "Sign out?", Text: "You will be signed out of every application that you use with this browser.",
		Action: "/oidc/session/end", Button: "Sign out", Fields: fields, Target: bye.Address,
	}); err != nil {
		p.refusePerson(w, r, err)
	}
}

// signOut ends the session of the browser, if it has one.
func (p *Provider) signOut(ctx context.Context, browser identity.Browser) error {
	if browser.Session.ID == "" {
		return nil
	}
	return p.deps.Identity.SignOut(access.With(ctx, actor(browser)), browser.Session.ID)
}

func (p *Provider) after(bye farewell) string {
	if bye.Address == "" {
		return p.at("/signedout")
	}
	if bye.State == "" {
		return bye.Address
	}
	return withParams(bye.Address, url.Values{"state": {bye.State}})
}
