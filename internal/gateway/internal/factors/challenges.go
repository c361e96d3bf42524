package factors

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"atelier/internal/errs"
	"atelier/internal/kv"
)

// challengeLife is how long a browser may take to answer a challenge.
const challengeLife = 5 * time.Minute

// challenge is what must be known when its answer comes.
type challenge struct {
	// SessionID is the session that asked for it; empty for a sign-in.
	SessionID string
	Data      webauthn.SessionData
}

// remember keeps a challenge and gives its id.
func (f *Factors) remember(ctx context.Context, c challenge) (id string, err error) {
	c.Data.Expires = time.Time{} // the store forgets it
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	id = f.deps.IDs.Secret()
	return id, f.deps.Store.Set(ctx, challengeOf(id), text, challengeLife)
}

func challengeOf(id string) string { return "passkey:" + id }

// take gives a challenge to the first who asks, and to nobody after.
func (f *Factors) take(ctx context.Context, id string) (c challenge, err error) {
	over := errs.New(errs.InvalidCredentials, "The challenge has been answered already, or has expired; start again.")
	text, err := f.deps.Store.Get(ctx, challengeOf(id))
	if errors.Is(err, kv.ErrNotFound) || err == nil && len(text) == 0 {
		return c, over
	}
	if err != nil {
		return c, errs.Wrap(err, "read a challenge")
	}
	won, err := f.deps.Store.Swap(ctx, challengeOf(id), text, nil, challengeLife)
	if err != nil {
		return c, errs.Wrap(err, "take a challenge")
	}
	if !won {
		return c, over
	}
	return c, errs.Wrap(json.Unmarshal(text, &c), "read a challenge")
}
