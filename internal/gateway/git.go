package gateway

import (
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// byPassword believes the password of a git client, which knows no other way to send a credential: an access token, the
// token of a session, or an API key. Whatever the user is called does not matter.
func (g *Gateway) byPassword(r *http.Request) (access.Principal, error) {
	_, password, ok := r.BasicAuth()
	switch {
	case !ok || password == "":
		return access.Principal{}, errs.New(errs.InvalidCredentials, "Send an access token or an API key as the password; any user name will do.")
	case strings.HasPrefix(password, identity.TokenPrefix):
		return g.identity.AuthenticateAccessToken(r.Context(), password)
	case strings.Count(password, ".") == 2: // as a JWT has, and no API key
		return g.identity.Authenticate(r.Context(), password)
	default:
		return g.byKey(r, password)
	}
}

// asking is an answer to a git client, which asks its user for a password only when it is told to.
type asking struct {
	http.ResponseWriter
}

// WriteHeader implements http.ResponseWriter.
func (a *asking) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		a.Header().Set("WWW-Authenticate", `Basic realm="Atelier", charset="UTF-8"`)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets handlers reach the connection.
func (a *asking) Unwrap() http.ResponseWriter { return a.ResponseWriter }
