package oidcop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// request is a valid authorization request.
type request struct {
	ClientID    string   `json:"clientId"`
	RedirectURI string   `json:"redirectUri"`
	State       string   `json:"state,omitempty"`
	Nonce       string   `json:"nonce,omitempty"`
	Challenge   string   `json:"challenge"`
	Scopes      []string `json:"scopes"`
	Prompt      []string `json:"prompt,omitempty"`
	// MaxAge is how long ago the person may have signed in, in seconds; negative when the client does not mind.
	MaxAge int64 `json:"maxAge"`
	// Subject is who must be signed in, when the client said so with an ID token.
	Subject   string `json:"subject,omitempty"`
	LoginHint string `json:"loginHint,omitempty"`
	Locale    string `json:"locale,omitempty"`
}

func (r request) prompts(value string) bool { return slices.Contains(r.Prompt, value) }

const (
	maxState     = 2048
	maxLoginHint = 320
)

// target finds out which client asks and where its answer goes. Until both are known to belong together, nothing is sent
// anywhere: an error is for the person who sits in front of the browser.
func (p *Provider) target(ctx context.Context, params url.Values) (Client, string, error) {
	id, address := params.Get("client_id"), params.Get("redirect_uri")
	switch {
	case id == "" || address == "":
		return Client{}, "", badRequest("client_id and redirect_uri are needed.")
	case len(params.Get("state")) > maxState || len(params.Get("nonce")) > maxState:
		return Client{}, "", badRequest("state and nonce have at most 2048 characters.")
	}
	c, err := p.client(ctx, id)
	if isBadClient(err) {
		return c, "", badRequest("There is no client with this client_id.")
	}
	if err != nil {
		return c, "", err
	}
	if !c.allowsRedirect(address) {
		return c, "", badRequest("The redirect_uri is none of those that the client registered.")
	}
	return c, address, nil
}

// validate reads the rest of an authorization request. Its errors go to the client.
func (p *Provider) validate(ctx context.Context, c Client, params url.Values) (request, *failure) {
	req := request{
		ClientID: c.ID, RedirectURI: params.Get("redirect_uri"), State: params.Get("state"), Nonce: params.Get("nonce"),
		Challenge: params.Get("code_challenge"), Scopes: c.grantable(params.Get("scope")),
		Prompt: strings.Fields(params.Get("prompt")), MaxAge: -1, Locale: localeOf(params),
	}
	if !c.allows(grantCode) {
		return req, fail("unauthorized_client", "The client is not registered for the authorization_code grant.")
	}
	for _, check := range []func(url.Values) *failure{p.checkUnsupported, checkResponse, checkChallenge} {
		if f := check(params); f != nil {
			return req, f
		}
	}
	if len(req.Scopes) == 0 {
		return req, fail("invalid_scope", "Ask for at least one scope that the client may have, such as openid.")
	}
	if hint := params.Get("login_hint"); len(hint) <= maxLoginHint {
		req.LoginHint = hint
	}
	if f := req.readPrompt(params); f != nil {
		return req, f
	}
	if hint := params.Get("id_token_hint"); hint != "" {
		known, ok := p.readHint(ctx, hint)
		if !ok {
			return req, badRequest("The id_token_hint is not an ID token of this provider.")
		}
		req.Subject = known.Subject
	}
	return req, nil
}

// checkUnsupported refuses what would silently change the meaning of a request if it were ignored.
func (p *Provider) checkUnsupported(params url.Values) *failure {
	for _, name := range []string{"request", "request_uri", "registration"} {
		if params.Get(name) != "" {
			return fail(name+"_not_supported", "Send the parameters themselves.")
		}
	}
	if claims := params.Get("claims"); claims != "" && !json.Valid([]byte(claims)) {
		return badRequest("claims is not JSON.")
	}
	if resource := params.Get("resource"); resource != "" && resource != p.deps.Config.PublicURL() {
		return fail("invalid_target", "The only resource is the API of this installation.")
	}
	return nil
}

func checkResponse(params url.Values) *failure {
	switch params.Get("response_type") {
	case string(oidc.ResponseTypeCode):
	case "":
		return badRequest("response_type is needed; the only one is code.")
	default:
		return fail("unsupported_response_type", "The only response_type is code.")
	}
	if mode := params.Get("response_mode"); mode != "" && mode != string(oidc.ResponseModeQuery) {
		return badRequest("The only response_mode is query.")
	}
	return nil
}

// checkChallenge wants PKCE from everybody, with a hash: a plain challenge protects nothing.
func checkChallenge(params url.Values) *failure {
	if params.Get("code_challenge_method") != string(oidc.CodeChallengeMethodS256) {
		return badRequest("PKCE is needed: code_challenge_method=S256 and a code_challenge.")
	}
	const hashSize = 32
	hash, err := base64.RawURLEncoding.Strict().DecodeString(params.Get("code_challenge"))
	if err != nil || len(hash) != hashSize {
		return badRequest("The code_challenge is not the base64url text of a SHA-256 hash.")
	}
	return nil
}

func (r *request) readPrompt(params url.Values) *failure {
	for _, value := range r.Prompt {
		switch value {
		case oidc.PromptNone, oidc.PromptLogin, oidc.PromptConsent, oidc.PromptSelectAccount:
		default:
			return badRequest("prompt is none, login, consent or select_account.")
		}
	}
	if r.prompts(oidc.PromptNone) && len(r.Prompt) > 1 {
		return badRequest("prompt=none goes with no other prompt.")
	}
	if text := params.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return badRequest("max_age is a number of seconds.")
		}
		r.MaxAge = int64(seconds)
	}
	return nil
}

// tooOld tells that somebody signed in longer ago than the client wants.
func (r request) tooOld(signedIn, now time.Time) bool {
	return r.MaxAge >= 0 && now.Sub(signedIn) > time.Duration(r.MaxAge)*time.Second
}

var locale = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$`) //nolint:gochecknoglobals // compiled once

// localeOf is the first language of a request that is spelled like one.
func localeOf(params url.Values) string {
	for _, name := range append(strings.Fields(params.Get("locale")), strings.Fields(params.Get("ui_locales"))...) {
		if locale.MatchString(name) {
			return name
		}
	}
	return ""
}
