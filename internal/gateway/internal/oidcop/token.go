package oidcop

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// issue is what a token response is made of.
type issue struct {
	grant  grant
	scopes []string
	nonce  string
	// refresh is the refresh token; empty when the client gets none.
	refresh string
}

// token exchanges what a client was given for tokens.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	c, err := p.authenticateClient(r, form)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	made, err := p.redeem(r.Context(), c, form)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	response, access, err := p.issue(r.Context(), made)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	if p.keepsToken(r, c, made.grant) {
		http.SetCookie(w, p.jar.SetToken(access.JWT, access.Expires))
	}
	w.Header().Set("Pragma", "no-cache")
	answer(w, http.StatusOK, response)
}

// keepsToken tells whether the browser gets the token as a cookie too. A page of another site, or of a workspace, could have
// a browser send a code of its own and so sign the person in as somebody else: the browser must be signed in to the session
// that the token is of.
func (p *Provider) keepsToken(r *http.Request, c Client, g grant) bool {
	if !c.FirstParty || c.Workspace != "" || !p.byOwnPage(r, c) {
		return false
	}
	browser, err := p.browser(r)
	return err == nil && browser.Session.ID != "" && browser.Session.ID == g.SessionID
}

// byOwnPage tells that no page but the client's own, or one of ours, sent the request.
func (p *Provider) byOwnPage(r *http.Request, c Client) bool {
	origin := r.Header.Get("Origin")
	return p.ours.Check(r) == nil || slices.ContainsFunc(c.RedirectURIs, func(address string) bool {
		return strings.HasPrefix(address, "http") && originOf(address) == origin
	})
}

// redeem takes what the client presents.
func (p *Provider) redeem(ctx context.Context, c Client, form url.Values) (issue, error) {
	kinds := map[string]struct {
		needs  []string
		redeem func(context.Context, Client, url.Values) (issue, error)
	}{
		grantCode:    {[]string{"code", "redirect_uri"}, p.redeemCode},
		grantRefresh: {[]string{"refresh_token"}, p.redeemRefresh},
		grantDevice:  {[]string{"device_code"}, p.redeemDevice},
	}
	kind, known := kinds[form.Get("grant_type")]
	switch {
	case form.Get("grant_type") == "":
		return issue{}, badRequest("grant_type is needed.")
	case !known:
		return issue{}, fail("unsupported_grant_type", "The grant types are authorization_code, refresh_token and "+grantDevice+".")
	case !c.allows(form.Get("grant_type")):
		return issue{}, fail("unauthorized_client", "The client is not registered for this grant_type.")
	}
	for _, name := range kind.needs {
		if form.Get(name) == "" {
			return issue{}, badRequest(name + " is needed.")
		}
	}
	made, err := kind.redeem(ctx, c, form)
	if err != nil {
		return made, err
	}
	// the client may have given some of its scopes up since
	made.scopes = slices.DeleteFunc(slices.Clone(made.scopes), func(s string) bool { return !slices.Contains(c.Scopes, s) })
	if len(made.scopes) == 0 {
		return made, fail("invalid_scope", "The client may have none of the scopes any more; ask the person again.")
	}
	return made, nil
}

// issue makes the tokens.
func (p *Provider) issue(ctx context.Context, made issue) (*oidc.AccessTokenResponse, identity.Token, error) {
	g := made.grant
	scopes := slices.DeleteFunc(slices.Clone(made.scopes), func(s string) bool { return s == scopeOffline })
	access, err := p.deps.Identity.IssueToken(ctx, identity.TokenRequest{SessionID: g.SessionID, ClientID: g.ClientID, Scopes: scopes})
	if errs.CodeOf(err) == errs.InvalidToken {
		return nil, access, badGrant("The session has ended; sign in again.")
	}
	if err != nil {
		return nil, access, err
	}
	if err := p.noteToken(ctx, g.ID, access); err != nil {
		return nil, access, err
	}
	response := &oidc.AccessTokenResponse{
		AccessToken: access.JWT, TokenType: oidc.BearerToken, RefreshToken: made.refresh, Scope: made.scopes,
		ExpiresIn: uint64(max(0, access.Expires.Sub(p.now()).Seconds())),
	}
	if slices.Contains(made.scopes, scopeOpenID) {
		response.IDToken, err = p.makeIDToken(g, made.nonce, access)
	}
	return response, access, err
}

// authenticateClient tells which client sent the form. It must prove itself in the way it registered, and in no second one.
func (p *Provider) authenticateClient(r *http.Request, form url.Values) (Client, error) {
	id, secret, method, err := presented(r, form)
	if err != nil {
		return Client{}, err
	}
	c, err := p.client(r.Context(), id)
	if err != nil {
		return c, err
	}
	switch {
	case c.AuthMethod == authNone && secret == "":
		return c, nil
	case c.AuthMethod == method && subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(c.secretHash)) == 1:
		return c, nil
	default:
		return Client{}, badClient()
	}
}

// presented reads the id and the secret of a client from where it may send them.
func presented(r *http.Request, form url.Values) (id, secret, method string, err error) {
	id, secret, method = form.Get("client_id"), form.Get("client_secret"), authPost
	if form.Get("client_assertion") != "" || form.Get("client_assertion_type") != "" {
		return "", "", "", badClient()
	}
	header := r.Header["Authorization"]
	if len(header) == 0 {
		if id == "" {
			return "", "", "", badClient()
		}
		return id, secret, method, nil
	}
	user, password, ok := r.BasicAuth()
	user, err1 := url.QueryUnescape(user)
	password, err2 := url.QueryUnescape(password)
	if len(header) > 1 || !ok || errors.Join(err1, err2) != nil || secret != "" || id != "" && id != user {
		return "", "", "", badClient()
	}
	return user, password, authBasic, nil
}

func isBadClient(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.Code == "invalid_client"
}

// bearer is the token in the Authorization header; empty when there is none.
func bearer(r *http.Request) string {
	header := r.Header["Authorization"]
	if len(header) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return token
}
