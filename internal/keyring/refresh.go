package keyring

import (
	"context"
	"database/sql"
	"fmt"

	"atelier/internal/sqldb"
)

type row struct {
	kid, previous, jwk               string
	created, signs, rotates, expires int64
}

// refresh reads the keys. Keys that were read before are not parsed again.
func (r *Ring) refresh(ctx context.Context) error {
	set := &keySet{look: r.begun.Add(1), byID: map[string]*entry{}, followed: map[string]bool{}}
	rows, err := sqldb.All(ctx, r.deps.DB, func(rows *sql.Rows) (k row, err error) {
		return k, rows.Scan(&k.kid, &k.previous, &k.jwk, &k.created, &k.signs, &k.rotates, &k.expires)
	}, `SELECT kid, previous_kid, jwk, created_at, signs_at, rotates_at, expires_at FROM keyring_keys ORDER BY signs_at, created_at, kid`)
	if err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	before := r.set.Load()
	for _, row := range rows {
		e := &entry{
			kid: row.kid, created: sqldb.Time(row.created), signs: sqldb.Time(row.signs), rotates: sqldb.Time(row.rotates),
			expires: sqldb.Time(row.expires),
		}
		if old, ok := before.byID[row.kid]; ok {
			e.private, e.public, e.signer = old.private, old.public, old.signer
		} else if err := e.read(row.jwk); err != nil {
			return err
		}
		set.entries, set.byID[e.kid], set.followed[row.previous] = append(set.entries, e), e, true
	}
	r.take(set)
	return nil
}

// take replaces the keys, unless a look that began later was faster.
func (r *Ring) take(set *keySet) {
	for {
		before := r.set.Load()
		if before.look > set.look {
			return
		}
		if r.set.CompareAndSwap(before, set) {
			r.forget(before, set)
			return
		}
	}
}

// forget notes the keys that are gone, so that their tokens do not make the ring look for them.
func (r *Ring) forget(before, after *keySet) {
	for kid := range before.byID {
		if _, still := after.byID[kid]; !still {
			r.noteAbsent(kid)
		}
	}
}
