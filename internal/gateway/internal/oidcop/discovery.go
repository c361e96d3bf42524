package oidcop

import (
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/access"
)

// metadataDocument is the discovery document, with what the standard has added to it since.
type metadataDocument struct {
	oidc.DiscoveryConfiguration
	// IssInResponse tells clients to expect iss in every answer, as a protection against mix-ups (RFC 9207).
	IssInResponse bool `json:"authorization_response_iss_parameter_supported"`
}

// discovery describes the provider to its clients.
func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	document := metadataDocument{DiscoveryConfiguration: p.describeSelf(), IssInResponse: true}
	w.Header().Set("Cache-Control", "public, max-age=300")
	answer(w, http.StatusOK, document)
}

func (p *Provider) describeSelf() oidc.DiscoveryConfiguration {
	methods := []oidc.AuthMethod{oidc.AuthMethodNone, oidc.AuthMethodBasic, oidc.AuthMethodPost}
	algorithm := p.deps.Config.JWKSAlg
	if key := p.deps.Keys.Signing(); key != nil {
		algorithm = key.Algorithm
	}
	document := oidc.DiscoveryConfiguration{
		Issuer:                      p.deps.Config.Issuer(),
		AuthorizationEndpoint:       p.at("/oidc/auth"),
		TokenEndpoint:               p.at("/oidc/token"),
		IntrospectionEndpoint:       p.at("/oidc/token/introspection"),
		RevocationEndpoint:          p.at("/oidc/token/revocation"),
		UserinfoEndpoint:            p.at("/oidc/me"),
		EndSessionEndpoint:          p.at("/oidc/session/end"),
		JwksURI:                     p.at("/oidc/jwks"),
		DeviceAuthorizationEndpoint: p.at("/oidc/device/auth"),
		ScopesSupported:             append(person(), access.Scopes()...),
		ResponseTypesSupported:      []string{string(oidc.ResponseTypeCode)},
		ResponseModesSupported:      []string{string(oidc.ResponseModeQuery)},
		GrantTypesSupported:         []oidc.GrantType{grantCode, grantRefresh, grantDevice},
		SubjectTypesSupported:       []string{"public"},
		ClaimsSupported: []string{
			"sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "azp", "sid", "at_hash", "name", "given_name", "family_name", "picture", "locale",
			"updated_at", "firstName", "lastName", "photo", "language", "email", "email_verified", "mfa", "meta", "authData",
		},
		IDTokenSigningAlgValuesSupported:          []string{algorithm},
		CodeChallengeMethodsSupported:             []oidc.CodeChallengeMethod{oidc.CodeChallengeMethodS256},
		TokenEndpointAuthMethodsSupported:         methods,
		RevocationEndpointAuthMethodsSupported:    methods,
		IntrospectionEndpointAuthMethodsSupported: methods,
	}
	if p.deps.Config.RegistrationToken.Reveal() != "" {
		document.RegistrationEndpoint = p.at("/oidc/reg")
	}
	return document
}
