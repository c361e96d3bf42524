package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"atelier/internal/sqldb"
)

// ErrUnknown tells that there is no key with the id.
var ErrUnknown = errors.New("there is no signing key with this id")

var errRaced = errors.New("another instance changed the keys at the same time")

// Revoke removes a key at once: its tokens are refused here when it returns, and within two seconds everywhere. When it is
// the key that signs, another takes its place in the same commit.
func (r *Ring) Revoke(ctx context.Context, kid string) error {
	const attempts = 5
	var err error
	for range attempts {
		if err = r.revoke(ctx, kid); !errors.Is(err, errRaced) {
			break
		}
	}
	switch {
	case errors.Is(err, ErrUnknown):
		return err
	case err != nil:
		return fmt.Errorf("revoke a signing key: %w", err)
	}
	return r.afterChange(ctx)
}

func (r *Ring) revoke(ctx context.Context, kid string) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	set := r.set.Load()
	if set.byID[kid] == nil {
		return ErrUnknown
	}
	replace, err := r.replacement(set, kid)
	if err != nil {
		return err
	}
	return r.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := replace(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM keyring_keys WHERE kid = $1`, kid); err != nil {
			return err
		}
		return r.announce(ctx, tx)
	})
}

// replacement is what has to happen before a key can go: nothing, or the next key's turn, or a new key.
func (r *Ring) replacement(set *keySet, kid string) (func(context.Context, *sqldb.Tx) error, error) {
	now := r.deps.Clock.Now()
	if current := set.signing(now); current.kid != kid {
		return func(context.Context, *sqldb.Tx) error { return nil }, nil
	}
	if next := set.next(now); next != nil {
		return func(ctx context.Context, tx *sqldb.Tx) error { return advance(ctx, tx, next.kid, now) }, nil
	}
	key, err := r.deps.Settings.newKey()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *sqldb.Tx) error { return r.insertNow(ctx, tx, key, kid) }, nil
}

func (r *Ring) insertNow(ctx context.Context, tx *sqldb.Tx, key made, previous string) error {
	added, err := r.insert(ctx, tx, key, previous, r.deps.Clock.Now())
	if err == nil && !added {
		err = errRaced
	}
	return err
}

// removeExpired removes the keys whose last token has ended.
func (r *Ring) removeExpired(ctx context.Context, now time.Time) error {
	expired := false
	for _, e := range r.set.Load().entries {
		expired = expired || e.over(now)
	}
	if !expired {
		return nil
	}
	err := r.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM keyring_keys WHERE expires_at < $1`, sqldb.Millis(now.Add(-grace))); err != nil {
			return err
		}
		return r.announce(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("remove expired signing keys: %w", err)
	}
	return r.refresh(ctx)
}
