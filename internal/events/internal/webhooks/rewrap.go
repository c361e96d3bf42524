package webhooks

import (
	"context"
	"database/sql"
	"errors"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Holdings tells under which master keys the signing keys and headers of all subscriptions are.
type Holdings struct {
	// Current is how many are under the current key, Older under another one, and Rewrapped how many of the older ones were
	// put under the current one.
	Current, Older, Rewrapped int
	// Lost and Damaged count by the id of the master key those that cannot be opened.
	Lost, Damaged map[string]int
}

// Rewrap looks under which master keys the sealed contents are and, unless it is only to look, puts them under the current
// one. It may be repeated, and run while others read and write.
func Rewrap(ctx context.Context, db *sqldb.DB, v *vault.Vault, onlyLook bool) (Holdings, error) {
	const size = 500
	h := Holdings{Lost: map[string]int{}, Damaged: map[string]int{}}
	type wrapped struct {
		id string
		vault.Sealed
	}
	for last := ""; ; {
		some, err := sqldb.All(ctx, db, func(rows *sql.Rows) (one wrapped, err error) { return one, rows.Scan(&one.id, &one.KeyID, &one.Key) },
			`SELECT id, key_id, data_key FROM ev_subscriptions WHERE id > $1 ORDER BY id LIMIT $2`, last, size)
		if err != nil || len(some) == 0 {
			return h, err
		}
		for _, one := range some {
			last = one.id
			sealed, older := h.sort(v, one.Sealed)
			if !older || onlyLook {
				continue
			}
			err := db.Tx(ctx, func(tx *sqldb.Tx) error {
				n, err := tx.Exec(ctx, `UPDATE ev_subscriptions SET key_id = $1, data_key = $2, revision = revision + 1 WHERE id = $3 AND data_key = $4`,
					sealed.KeyID, sealed.Key, one.id, one.Key)
				h.Rewrapped += int(n)
				return err
			})
			if err != nil {
				return h, err
			}
		}
	}
}

// sort counts a sealed content, and gives one that is under an older key as it is to be.
func (h *Holdings) sort(v *vault.Vault, s vault.Sealed) (vault.Sealed, bool) {
	sealed, older, err := v.Rewrap(s)
	switch {
	case errors.Is(err, vault.ErrUnknownKey):
		h.Lost[s.KeyID]++
	case err != nil:
		h.Damaged[s.KeyID]++
	case older:
		h.Older++
	default:
		h.Current++
	}
	return sealed, older
}
