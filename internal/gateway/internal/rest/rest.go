// Package rest holds the gateway's own operations, one file a resource.
package rest

import (
	"atelier/internal/blob"
	"atelier/internal/config"
	"atelier/internal/gateway/internal/cookies"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/gateway/internal/federation"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/oidcop"
	"atelier/internal/gateway/internal/pages"
	"atelier/internal/restapi"
)

// Deps is what the operations need.
type Deps struct {
	Config    config.Config
	Identity  *identity.Identity
	Cookies   cookies.Jar
	Blobs     blob.Store
	Readiness *Readiness
	Version   string
	// Document gives the OpenAPI document of the whole installation, as JSON.
	Document func() ([]byte, error)
	// CSRF gives the token that a session's writes must carry when they come with a cookie.
	CSRF func(sessionID string) string
	// Federation signs in through external providers.
	Federation *federation.Federation
	// Factors checks second factors and passkeys.
	Factors *factors.Factors
	// OIDC is the OpenID Connect provider.
	OIDC *oidcop.Provider
	// Pages are what people see; nil when the API is only described.
	Pages *pages.Site
}

// Register adds the gateway's operations to its API.
func Register(api *restapi.API, deps Deps) {
	registerStatus(api, deps)
	registerKeys(api, deps)
	registerLogin(api, deps)
	registerOIDC(api, deps)
	registerFederation(api, deps)
	registerMFA(api, deps)
	registerPasskeys(api, deps)
	registerSignup(api, deps)
	registerMe(api, deps)
	registerUser(api, deps)
	registerPhoto(api, deps)
	registerSessions(api, deps)
	registerAccessTokens(api, deps)
	registerContacts(api, deps)
	registerUsers(api, deps)
	registerServiceAccounts(api, deps)
	registerReadiness(api, deps)
	registerDocs(api, deps)
	registerPages(api, deps)
}
