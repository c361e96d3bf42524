package secrets

import (
	"context"
	"errors"

	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Holdings tells under which master keys the stored values are, of all workspaces.
type Holdings struct {
	// Current is how many are under the current key, Older under another one, and Rewrapped how many of the older ones were
	// put under the current one.
	Current, Older, Rewrapped int
	// Lost and Damaged count by the id of the master key those that cannot be opened: the key is not configured, or they, or
	// the key, are not what they were.
	Lost, Damaged map[string]int
}

// Unreadable is how many values cannot be opened.
func (h Holdings) Unreadable() (total int) {
	for _, counts := range []map[string]int{h.Lost, h.Damaged} {
		for _, count := range counts {
			total += count
		}
	}
	return total
}

// Survey looks under which master keys the values are, and changes nothing.
func Survey(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return walk(ctx, db, v, func(context.Context, []rewrapped) (int, error) { return 0, nil })
}

// Rewrap puts every value under the current master key; the values themselves are not touched. It may be repeated, and run
// while others read and write: a value that is set meanwhile is left as it was set.
func Rewrap(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return walk(ctx, db, v, func(ctx context.Context, batch []rewrapped) (changed int, err error) {
		if len(batch) == 0 {
			return 0, nil
		}
		err = db.Tx(ctx, func(tx *sqldb.Tx) error {
			changed = 0
			for _, one := range batch {
				done, err := setKey(ctx, tx, one)
				if err != nil {
					return err
				}
				changed += done
			}
			return nil
		})
		return changed, err
	})
}

// rewrapped is a wrapped key as it is and as it is to be.
type rewrapped struct{ before, after wrapped }

// walk goes over all values in batches and hands on those that are under an older key.
func walk(ctx context.Context, db *sqldb.DB, v *vault.Vault, do func(context.Context, []rewrapped) (int, error)) (Holdings, error) {
	const size = 500
	h := Holdings{Lost: map[string]int{}, Damaged: map[string]int{}}
	last := wrapped{}
	for {
		batch, err := wrappedAfter(ctx, db, last, size)
		if err != nil || len(batch) == 0 {
			return h, err
		}
		changed, err := do(ctx, h.sort(v, batch))
		if err != nil {
			return h, err
		}
		h.Rewrapped += changed
		last = batch[len(batch)-1]
	}
}

// sort counts the values of a batch and gives those that are under an older key.
func (h *Holdings) sort(v *vault.Vault, batch []wrapped) (older []rewrapped) {
	for _, one := range batch {
		sealed, changed, err := v.Rewrap(one.Sealed)
		switch {
		case errors.Is(err, vault.ErrUnknownKey):
			h.Lost[one.KeyID]++
		case err != nil:
			h.Damaged[one.KeyID]++
		case changed:
			h.Older++
			older = append(older, rewrapped{before: one, after: wrapped{workspaceID: one.workspaceID, name: one.name, Sealed: sealed}})
		default:
			h.Current++
		}
	}
	return older
}
