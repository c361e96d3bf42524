package oidcop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
)

// accessToken is what a valid access token says.
type accessToken struct {
	ID       string `json:"jti"`
	Subject  string `json:"sub"`
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// readAccess reads an access token that is valid now; badToken when it is not.
func (p *Provider) readAccess(ctx context.Context, token string) (accessToken, error) {
	var t accessToken
	principal, err := p.deps.Identity.Authenticate(ctx, token)
	switch code := errs.CodeOf(err); {
	case code == errs.InvalidToken || code == errs.TokenExpired || code == errs.InvalidCredentials:
		return t, badToken()
	case err != nil:
		return t, err
	case principal.Credential != access.BySession || principal.Pending:
		return t, badToken()
	}
	parts := strings.Split(token, ".") // it has been verified
	const payload = 1
	text, err := base64.RawURLEncoding.DecodeString(parts[min(payload, len(parts)-1)])
	if err != nil || json.Unmarshal(text, &t) != nil || p.deps.Revocations.Has(t.ID) {
		return t, badToken()
	}
	return t, nil
}

// userInfo tells a client about the person whose access token it holds.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	token, err := userInfoToken(w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	t, err := p.readAccess(r.Context(), token)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	scopes := strings.Fields(t.Scope)
	if !slices.Contains(scopes, scopeOpenID) {
		p.refuse(w, r, &failure{Code: "insufficient_scope", Description: "The token lacks the scope openid.", status: http.StatusForbidden})
		return
	}
	user, err := p.deps.Identity.User(r.Context(), t.Subject)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusOK, claimsOf(user, scopes))
}

// userInfoToken takes the token from the header, or from a form.
func userInfoToken(w http.ResponseWriter, r *http.Request) (string, error) {
	token := bearer(r)
	if r.Method == http.MethodPost && token == "" && mediaType(r) == "application/x-www-form-urlencoded" {
		form, err := readForm(w, r)
		if err != nil {
			return "", err
		}
		token = form.Get("access_token")
	}
	if token == "" {
		return "", badToken()
	}
	return token, nil
}

// claimsOf is what the scopes let a client know, under the names of the platform and under those of the standard.
func claimsOf(user identity.User, scopes []string) map[string]any {
	claims := map[string]any{"sub": user.ID}
	if slices.Contains(scopes, scopeProfile) {
		claims["updated_at"] = user.UpdatedAt.Unix()
		for _, claim := range []struct{ ours, standard, value string }{
			{"firstName", "given_name", user.FirstName},
			{"lastName", "family_name", user.LastName},
			{"photo", "picture", user.Photo},
			{"language", "locale", user.Language},
			{"name", "name", strings.TrimSpace(user.FirstName + " " + user.LastName)},
		} {
			if claim.value != "" {
				claims[claim.ours], claims[claim.standard] = claim.value, claim.value
			}
		}
	}
	if slices.Contains(scopes, scopeEmail) && user.Email != "" {
		claims["email"], claims["email_verified"] = user.Email, user.Verified
	}
	if slices.Contains(scopes, string(access.Settings)) {
		claims["mfa"], claims["meta"], claims["authData"] = user.MFA, user.Meta, user.AuthData
	}
	return claims
}
