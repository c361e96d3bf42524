// Package rest holds the gateway's own operations, one file a resource.
package rest

import (
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

// Deps is what the operations need.
type Deps struct {
	Identity  *identity.Identity
	Readiness *Readiness
	Version   string
	Document  []byte
}

// Register adds the gateway's operations to its API.
func Register(api *restapi.API, deps Deps) {
	registerStatus(api, deps)
	registerKeys(api, deps)
	registerLogin(api, deps)
	registerMe(api, deps)
	registerReadiness(api, deps)
	registerDocs(api, deps)
}
