package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// KeySet is a JSON Web Key Set.
type KeySet struct {
	Keys []any `json:"keys" nullable:"false" doc:"Public keys, each with kid, alg and use."`
}

type keysOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         KeySet
}

func registerKeys(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "getKeys", Method: http.MethodGet, Path: "/oidc/jwks", Tag: "Identity", Policy: access.Public,
		Summary: "Public keys", Description: "The public keys that verify tokens, as a JSON Web Key Set.",
	}, func(context.Context, *struct{}) (*keysOutput, error) {
		out := &keysOutput{CacheControl: "public, max-age=60", Body: KeySet{Keys: []any{}}}
		for _, key := range deps.Identity.JWKS().Keys {
			out.Body.Keys = append(out.Body.Keys, key)
		}
		return out, nil
	})
}
