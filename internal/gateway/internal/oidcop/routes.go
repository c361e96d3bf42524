package oidcop

import "net/http"

// Route is one method and path of the provider.
type Route struct {
	ID, Method, Path string
	Serve            http.HandlerFunc
}

// Routes lists what the provider serves. Of a nil provider they can be listed, not served.
func (p *Provider) Routes() []Route {
	return []Route{
		{"getOpenIDConfiguration", http.MethodGet, "/.well-known/openid-configuration", p.discovery},
		{"getOpenIDConfigurationBelow", http.MethodGet, "/oidc/.well-known/openid-configuration", p.discovery},
		{"getOAuthMetadata", http.MethodGet, "/.well-known/oauth-authorization-server", p.discovery},
		{"authorize", http.MethodGet, "/oidc/auth", p.authorize},
		{"authorizeByForm", http.MethodPost, "/oidc/auth", p.authorize},
		{"resumeAuthorization", http.MethodGet, "/oidc/auth/{uid}", p.resume},
		{"getInteraction", http.MethodGet, "/oidc/interaction/{uid}", p.interact},
		{"getInteractionDetails", http.MethodGet, "/oidc/interaction/{uid}/details", p.details},
		{"signInForInteraction", http.MethodPost, "/oidc/interaction/{uid}/login", p.login},
		{"consentToInteraction", http.MethodPost, "/oidc/interaction/{uid}/consent", p.consent},
		{"exchangeToken", http.MethodPost, "/oidc/token", p.token},
		{"introspectToken", http.MethodPost, "/oidc/token/introspection", p.introspect},
		{"revokeToken", http.MethodPost, "/oidc/token/revocation", p.revoke},
		{"getUserInfo", http.MethodGet, "/oidc/me", p.userInfo},
		{"getUserInfoByForm", http.MethodPost, "/oidc/me", p.userInfo},
		{"endSession", http.MethodGet, "/oidc/session/end", p.endSession},
		{"confirmEndSession", http.MethodPost, "/oidc/session/end", p.endSession},
		{"registerClient", http.MethodPost, "/oidc/reg", p.register},
		{"getClient", http.MethodGet, "/oidc/reg/{clientId}", p.readClient},
		{"replaceClient", http.MethodPut, "/oidc/reg/{clientId}", p.replaceClient},
		{"deleteClient", http.MethodDelete, "/oidc/reg/{clientId}", p.deleteClient},
		{"authorizeDevice", http.MethodPost, "/oidc/device/auth", p.authorizeDevice},
		{"getDeviceDetails", http.MethodGet, "/oidc/device/details", p.deviceDetails},
		{"verifyDevice", http.MethodPost, "/oidc/device/verify", p.verifyDevice},
	}
}
