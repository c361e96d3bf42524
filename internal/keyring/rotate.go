package keyring

import (
	"context"
	"fmt"
	"time"

	"atelier/internal/sqldb"
)

// Rotate lets the next key take over now, making it when it is not there yet, and gives its id. It signs when every
// instance knows it, two seconds after it was made; what the one before it signed stays valid.
func (r *Ring) Rotate(ctx context.Context) (kid string, err error) {
	if err := r.refresh(ctx); err != nil {
		return "", err
	}
	now, set := r.deps.Clock.Now(), r.set.Load()
	if next := set.next(now); next != nil {
		return next.kid, r.hasten(ctx, set.signing(now), next)
	}
	if err := r.follow(ctx, set.newest(), time.Time{}); err != nil {
		return "", err
	}
	return r.set.Load().newest().kid, nil
}

// hasten brings the turn of the next key forward, to when every instance knows it.
func (r *Ring) hasten(ctx context.Context, current, next *entry) error {
	signs := later(later(r.deps.Clock.Now(), next.created.Add(notice)), current.signs.Add(time.Millisecond))
	if !signs.Before(next.signs) {
		return nil
	}
	err := r.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := advance(ctx, tx, next.kid, signs); err != nil {
			return err
		}
		return r.retire(ctx, tx, current.kid, signs)
	})
	if err != nil {
		return fmt.Errorf("rotate the signing key: %w", err)
	}
	return r.afterChange(ctx)
}

// follow makes the key after the newest one, to take over at a time, or as soon as every instance knows it. Of several
// instances one succeeds, and the others use its key.
func (r *Ring) follow(ctx context.Context, newest *entry, at time.Time) error {
	key, err := r.deps.Settings.newKey()
	if err != nil {
		return err
	}
	now := r.deps.Clock.Now() // making it took time
	previous, signs := "", now
	if newest != nil {
		previous, signs = newest.kid, later(at, later(now, newest.signs).Add(notice))
	}
	err = r.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		added, err := r.insert(ctx, tx, key, previous, signs)
		if err != nil || !added {
			return err
		}
		if err := r.retire(ctx, tx, previous, signs); err != nil {
			return err
		}
		return r.announce(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("store a signing key: %w", err)
	}
	return r.afterChange(ctx)
}

// insert stores a key, unless another one follows the same key already.
func (r *Ring) insert(ctx context.Context, tx *sqldb.Tx, key made, previous string, signs time.Time) (bool, error) {
	rotates := signs.Add(r.deps.Settings.RotateEvery)
	n, err := tx.Exec(ctx, `INSERT INTO keyring_keys (kid, previous_kid, alg, jwk, created_at, signs_at, rotates_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (previous_kid) DO NOTHING`,
		key.kid, previous, key.alg, key.jwk, sqldb.Millis(r.deps.Clock.Now()), sqldb.Millis(signs), sqldb.Millis(rotates),
		sqldb.Millis(rotates.Add(r.deps.Settings.KeepFor)))
	return n == 1, err
}

// retire says until when a key signs. Its tokens live on for as long as they were promised when it was made, or are now.
func (r *Ring) retire(ctx context.Context, tx *sqldb.Tx, kid string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE keyring_keys SET rotates_at = $1,
		expires_at = $1 + CASE WHEN expires_at - rotates_at > $2 THEN expires_at - rotates_at ELSE $2 END WHERE kid = $3`,
		sqldb.Millis(at), r.deps.Settings.KeepFor.Milliseconds(), kid)
	return err
}

// advance lets a key sign earlier.
func advance(ctx context.Context, tx *sqldb.Tx, kid string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE keyring_keys SET signs_at = $1 WHERE kid = $2 AND signs_at > $1`, sqldb.Millis(at), kid)
	return err
}

// afterChange makes the change known in this process at once.
func (r *Ring) afterChange(ctx context.Context) error {
	select {
	case r.changed <- struct{}{}:
	default: // it is about to look already
	}
	return r.refresh(ctx)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
