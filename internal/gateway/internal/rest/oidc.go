package rest

import (
	"atelier/internal/access"
	"atelier/internal/restapi"
)

// registerOIDC mounts the OpenID Connect provider, which describes itself to its clients.
func registerOIDC(api *restapi.API, deps Deps) {
	for _, route := range deps.OIDC.Routes() {
		api.Handle(restapi.Operation{
			ID: route.ID, Method: route.Method, Path: route.Path, Policy: access.Public, Tag: "OpenID Connect",
		}, route.Serve)
	}
}
