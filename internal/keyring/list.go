package keyring

import (
	"context"
	"time"
)

// State is what a key does at the moment.
type State string

// The states, in the order of a key's life.
const (
	Next    State = "next"
	Signing State = "signing"
	Retired State = "retired"
)

// Key describes a key without its secret.
type Key struct {
	KID     string
	Alg     string
	State   State
	Created time.Time
	Signs   time.Time
	Rotates time.Time
	Expires time.Time
}

// List gives the stored keys, in the order in which they sign.
func (r *Ring) List(ctx context.Context) ([]Key, error) {
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	set, now := r.set.Load(), r.deps.Clock.Now()
	current, state := set.signing(now), Retired
	keys := make([]Key, 0, len(set.entries))
	for _, e := range set.entries {
		if e == current {
			state = Signing
		}
		keys = append(keys, Key{
			KID: e.kid, Alg: e.private.Algorithm, State: state, Created: e.created, Signs: e.signs, Rotates: e.rotates, Expires: e.expires,
		})
		if e == current {
			state = Next
		}
	}
	return keys, nil
}
