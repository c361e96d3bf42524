package gateway

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// authenticate tells who sent the request. No credential is nobody; a bad one is an error everywhere, also where none is
// needed: a client that believes to be signed in must hear that it is not.
func (g *Gateway) authenticate(r *http.Request) (access.Principal, error) {
	authorization, keys := r.Header["Authorization"], r.Header["X-Svc-Api-Key"]
	switch {
	case len(authorization) == 0 && len(keys) == 0:
		return access.Principal{}, nil
	case len(authorization)+len(keys) > 1:
		return access.Principal{}, errs.New(errs.InvalidRequest, "Send one credential: a bearer token or an API key.")
	case len(keys) == 1:
		return g.byKey(keys[0])
	}
	scheme, token, ok := strings.Cut(authorization[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return access.Principal{}, errs.New(errs.InvalidToken, "Send the token in the Authorization header, as Bearer <token>.")
	}
	return g.identity.Authenticate(r.Context(), token)
}

func (g *Gateway) byKey(key string) (access.Principal, error) {
	if subtle.ConstantTimeCompare([]byte(key), []byte(g.deps.Internal)) == 1 {
		return access.Principal{Kind: access.Internal}, nil
	}
	return access.Principal{}, errs.New(errs.InvalidCredentials, "The API key is not valid.")
}
