package oidcop

import (
	"net/http"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// credentials is what the form of the sign-in page sends.
type credentials struct {
	Login    string `json:"login"`
	Password string `json:"password"` //nolint:gosec // what is sent, not kept
	// Remember keeps the browser signed in after it is closed. It does unless the form says otherwise.
	Remember *bool `json:"remember"`
}

// login signs the browser in and goes on with the interaction.
func (p *Provider) login(w http.ResponseWriter, r *http.Request) {
	signed, remember, in, err := p.signIn(w, r)
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	kept := p.jar.SetBrowser(signed.Browser, p.now().Add(p.deps.Config.SessionMaxAge))
	token := p.jar.SetToken(signed.Token, signed.Expires)
	if !remember {
		kept.Expires, token.Expires = time.Time{}, time.Time{}
	}
	http.SetCookie(w, kept)
	http.SetCookie(w, token)
	p.redirect(w, r, p.resumeAddress(in.ID))
}

func (p *Provider) signIn(w http.ResponseWriter, r *http.Request) (signed identity.SignedIn, remember bool, in interaction, err error) {
	if err := p.sameSite(r); err != nil {
		return signed, false, in, err
	}
	if in, _, err = p.findInteraction(r); err != nil {
		return signed, false, in, err
	}
	given, err := readCredentials(w, r)
	if err != nil {
		return signed, false, in, err
	}
	signed, err = p.deps.Identity.SignIn(r.Context(), given.Login, given.Password)
	return signed, given.Remember == nil || *given.Remember, in, err
}

// sameSite refuses what another site's page makes a browser send.
func (p *Provider) sameSite(r *http.Request) error {
	if p.ours.Check(r) != nil {
		return errs.New(errs.PermissionDenied, "This can only be sent by a page of this installation.")
	}
	return nil
}

func readCredentials(w http.ResponseWriter, r *http.Request) (credentials, error) {
	var given credentials
	if mediaType(r) == "application/json" {
		if err := readJSON(w, r, &given, "login", "password", "remember"); err != nil {
			return given, err
		}
	} else {
		form, err := readForm(w, r)
		if err != nil {
			return given, err
		}
		given.Login, given.Password = form.Get("login"), form.Get("password")
		remember := !slices.Contains([]string{"false", "no", "off", "0"}, form.Get("remember"))
		given.Remember = &remember
	}
	const longest = 1024
	var wrong []errs.Field
	for name, value := range map[string]string{"login": given.Login, "password": given.Password} {
		if value == "" || len(value) > longest {
			wrong = append(wrong, errs.Field{Field: name, Message: "give it, in at most 1024 characters"})
		}
	}
	if len(wrong) > 0 {
		return given, errs.Invalid(wrong...)
	}
	return given, nil
}

// actor is the person in front of a browser, for the audit trail.
func actor(browser identity.Browser) access.Principal {
	return access.Principal{
		Kind: access.User, Credential: access.BySession, UserID: browser.User.ID, SessionID: browser.Session.ID, SuperAdmin: browser.User.SuperAdmin,
	}
}
