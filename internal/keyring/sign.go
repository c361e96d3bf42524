package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/errs"
)

// Sign signs a payload with the key whose turn it is, as a compact token with the header parameters alg, kid and typ.
func (r *Ring) Sign(payload []byte) (string, error) {
	e := r.set.Load().signing(r.deps.Clock.Now())
	if e == nil {
		return "", errs.New(errs.Unavailable, "There is no signing key yet; try again shortly.").WithRetryAfter(time.Second)
	}
	signed, err := e.signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed.CompactSerialize()
}

// Signing is the private key that signs now; nil while there is none.
func (r *Ring) Signing() *jose.JSONWebKey {
	if e := r.set.Load().signing(r.deps.Clock.Now()); e != nil {
		return e.private
	}
	return nil
}

// Public gives the public keys: those that verify, and those that are about to sign.
func (r *Ring) Public() jose.JSONWebKeySet {
	now := r.deps.Clock.Now()
	public := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, e := range r.set.Load().entries {
		if !e.over(now) {
			public.Keys = append(public.Keys, e.public)
		}
	}
	return public
}

// Check proves that a token signed now would be accepted.
func (r *Ring) Check(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	e := r.set.Load().signing(r.deps.Clock.Now())
	if e == nil {
		return errors.New("there is no signing key")
	}
	signed, err := e.signer.Sign([]byte("readiness"))
	if err != nil {
		return err
	}
	_, err = signed.Verify(e.public)
	return err
}
