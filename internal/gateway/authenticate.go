package gateway

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/httpx"
)

// authenticate tells who sent the request. No credential is nobody; a bad one is an error everywhere, also where none is
// needed: a client that believes to be signed in must hear that it is not. What a client sends on purpose counts before the
// cookie that its browser adds.
func (g *Gateway) authenticate(r *http.Request) (access.Principal, error) {
	authorization, keys := r.Header["Authorization"], r.Header["X-Svc-Api-Key"]
	switch {
	case len(authorization) > 0 && len(keys) > 0:
		return access.Principal{}, errs.New(errs.InvalidRequest, "Send one credential: a bearer token or an API key.")
	case len(authorization) > 1:
		return access.Principal{}, errs.New(errs.InvalidToken, "Send one Authorization header.")
	case len(keys) > 1:
		return access.Principal{}, errs.New(errs.InvalidCredentials, "Send one API key.")
	case len(keys) == 1:
		return g.byKey(r, keys[0])
	case len(authorization) == 1:
		return g.byToken(r, authorization[0])
	default:
		return g.byCookie(r)
	}
}

// protocolPaths use the Authorization header in their own way: clients authenticate themselves there.
const protocolPaths = "/oidc/"

func (g *Gateway) byToken(r *http.Request, authorization string) (access.Principal, error) {
	if strings.HasPrefix(r.URL.Path, protocolPaths) {
		return access.Principal{}, nil
	}
	scheme, token, ok := strings.Cut(authorization, " ")
	if ok && strings.EqualFold(scheme, "basic") && strings.HasPrefix(r.URL.Path, gitPrefix) {
		return g.byPassword(r)
	}
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return access.Principal{}, errs.New(errs.InvalidToken, "Send the token in the Authorization header, as Bearer <token>.")
	}
	if strings.HasPrefix(token, identity.TokenPrefix) {
		return g.identity.AuthenticateAccessToken(r.Context(), token)
	}
	if identity.IsCall(token) {
		return g.byCall(r, token)
	}
	return g.identity.Authenticate(r.Context(), token)
}

// byCall believes the token of an automation's request, where automations have something to ask for: not at what belongs to
// the account, which a workspace must not get hold of. The request goes on under the correlation id of the run.
func (g *Gateway) byCall(r *http.Request, token string) (access.Principal, error) {
	if !ofAutomations(canonical(r.URL.Path)) {
		return access.Principal{}, errs.New(errs.InvalidToken, "The token of an automation is for workspaces, pages, files and apps only.")
	}
	p, correlationID, err := g.identity.AuthenticateCall(r.Context(), token)
	if info := httpx.InfoFrom(r.Context()); err == nil && correlationID != "" && info.CorrelationID != correlationID {
		info.CorrelationID = correlationID
	}
	return p, err
}

// ofAutomations tells whether automations may send requests to a path for whom they run for.
func ofAutomations(path string) bool {
	return strings.HasPrefix(path, servicesPrefix) || strings.HasPrefix(path, filesPrefix) || strings.HasPrefix(path, pagesPrefix) || strings.HasPrefix(path, appsPrefix)
}

func (g *Gateway) byKey(r *http.Request, key string) (access.Principal, error) {
	if subtle.ConstantTimeCompare([]byte(key), []byte(g.deps.Internal)) == 1 {
		return access.Principal{Kind: access.Internal, Credential: access.ByInternalKey}, nil
	}
	ctx, hint := r.Context(), limits.Hint(key)
	if err := g.limits.Blocked(ctx, limits.Key, hint); err != nil {
		return access.Principal{}, err
	}
	p, err := g.deps.APIKeys.Find(ctx, g.deps.DB, key)
	switch {
	case err == nil:
		g.limits.Passed(ctx, limits.Key, hint)
		g.identity.NoteKey(p.KeyID)
	case errs.CodeOf(err) == errs.InvalidCredentials:
		g.limits.Failed(ctx, limits.Key, hint)
	}
	return p, err
}

// byCookie believes a browser's cookie, for writes only with the token that proves that one of our pages sent it. A cookie
// that does not count makes the caller nobody instead of failing, because a browser cannot help sending it; operations that
// need somebody say why.
func (g *Gateway) byCookie(r *http.Request) (access.Principal, error) {
	token := g.cookies.TokenOf(r)
	if token == "" || strings.HasPrefix(r.URL.Path, protocolPaths) || strings.HasPrefix(r.URL.Path, gitPrefix) { // git sends none
		return access.Principal{}, nil
	}
	p, err := g.identity.Authenticate(r.Context(), token)
	if err == nil {
		err = g.csrf.check(r, p.SessionID)
	}
	switch {
	case err == nil:
		p.Cookie = true
		return p, nil
	case errs.From(err).Status() >= http.StatusInternalServerError:
		return access.Principal{}, err
	case shows(r.Method, canonical(r.URL.Path)): // what is public is shown also to a browser whose session has ended
		return access.Principal{}, nil
	case ofServices(canonical(r.URL.Path)): // the service may be elsewhere: it is refused here
		return access.Principal{}, err
	default:
		return access.Principal{Refused: err}, nil
	}
}
