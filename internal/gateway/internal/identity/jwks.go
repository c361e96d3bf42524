package identity

import "github.com/go-jose/go-jose/v4"

// JWKS gives the public keys.
func (i *Identity) JWKS() jose.JSONWebKeySet { return i.keys.Public() }
