package secrets

import (
	"context"
	"database/sql"
	"errors"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Holdings tells under which master keys the secrets of automations are.
type Holdings struct {
	// Current is how many are under the current key, Older under another one, and Rewrapped how many of the older ones were put
	// under the current one.
	Current, Older, Rewrapped int
	// Lost and Damaged count by the id of the master key those that cannot be opened.
	Lost, Damaged map[string]int
}

// wrapped is the wrapped key of a value, without the value.
type wrapped struct {
	valueID string
	vault.Sealed
}

// Rewrap looks under which master keys the secrets are and, unless it is only to look, puts them under the current one. It may be
// repeated, and run while others read and write.
func Rewrap(ctx context.Context, db *sqldb.DB, v *vault.Vault, onlyLook bool) (Holdings, error) {
	const size = 500
	h := Holdings{Lost: map[string]int{}, Damaged: map[string]int{}}
	for last := ""; ; {
		some, err := sqldb.All(ctx, db, func(rows *sql.Rows) (one wrapped, err error) {
			return one, rows.Scan(&one.valueID, &one.KeyID, &one.Key)
		},
			`SELECT value_id, key_id, data_key FROM run_secrets WHERE value_id > $1 ORDER BY value_id LIMIT $2`, last, size)
		if err != nil || len(some) == 0 {
			return h, err
		}
		last = some[len(some)-1].valueID
		older := h.sort(v, some)
		if onlyLook || len(older) == 0 {
			continue
		}
		done := 0
		err = db.Tx(ctx, func(tx *sqldb.Tx) error {
			done = 0 // this may be a second attempt
			for _, one := range older {
				n, err := tx.Exec(ctx, `UPDATE run_secrets SET key_id = $1, data_key = $2 WHERE value_id = $3`, one.KeyID, one.Key, one.valueID)
				if err != nil {
					return err
				}
				done += int(n)
			}
			return nil
		})
		if err != nil {
			return h, err
		}
		h.Rewrapped += done
	}
}

// sort counts the secrets, and gives those that are under an older key as they are to be.
func (h *Holdings) sort(v *vault.Vault, some []wrapped) (older []wrapped) {
	for _, one := range some {
		sealed, changed, err := v.Rewrap(one.Sealed)
		switch {
		case errors.Is(err, vault.ErrUnknownKey):
			h.Lost[one.KeyID]++
		case err != nil:
			h.Damaged[one.KeyID]++
		case changed:
			h.Older++
			older = append(older, wrapped{one.valueID, sealed})
		default:
			h.Current++
		}
	}
	return older
}
