package collections

import (
	"context"
	"slices"
	"strings"

	"atelier/internal/sqldb"
)

// entries are what indexes and uniques know of records.
type entries struct {
	terms []entry
	// held are by slot, so that it is known which unique is broken.
	held map[int64][]entry
	by   map[int64][]string
}

// entry is a term or a digest.
type entry struct {
	slot        int64
	key, record string
}

// of adds what is known of a record.
func (e *entries) of(indexes, uniques []index, r *record) error {
	for _, one := range indexes {
		terms, err := one.terms(r.shown)
		if err != nil {
			return err
		}
		for _, term := range terms {
			e.terms = append(e.terms, entry{one.slot, term, r.id})
		}
	}
	for _, one := range uniques {
		if digest := one.digest(r.shown); digest != "" {
			e.hold(one.slot, one.fields, entry{one.slot, digest, r.id})
		}
	}
	return nil
}

func (e *entries) hold(slot int64, fields []string, held entry) {
	if e.held == nil {
		e.held, e.by = map[int64][]entry{}, map[int64][]string{}
	}
	e.held[slot], e.by[slot] = append(e.held[slot], held), fields
}

// without gives the entries that others do not have.
func (e *entries) without(others *entries) *entries {
	out := &entries{}
	for _, one := range e.terms {
		if !slices.Contains(others.terms, one) {
			out.terms = append(out.terms, one)
		}
	}
	for slot, held := range e.held {
		for _, one := range held {
			if !slices.Contains(others.held[slot], one) {
				out.hold(slot, e.by[slot], one)
			}
		}
	}
	return out
}

// rowsAtOnce is how many entries one statement writes.
const rowsAtOnce = 50

// store adds the entries. It fails when a unique is broken.
func (e *entries) store(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	for part := range slices.Chunk(e.terms, rowsAtOnce) {
		values, args := entryRows(col, part)
		if _, err := tx.Exec(ctx, `INSERT INTO collection_terms (collection_id, slot, term, record_id) VALUES `+values, args...); err != nil {
			return err
		}
	}
	for slot, held := range e.held {
		for part := range slices.Chunk(held, rowsAtOnce) {
			values, args := entryRows(col, part)
			n, err := tx.Exec(ctx, `INSERT INTO collection_uniques (collection_id, slot, digest, record_id) VALUES `+values+`
				ON CONFLICT (collection_id, slot, digest) DO NOTHING`, args...)
			if err != nil {
				return err
			}
			if n != int64(len(part)) {
				return duplicate(e.by[slot])
			}
		}
	}
	return nil
}

func entryRows(col *collection, part []entry) (values string, args []any) {
	const columns = 4
	args = make([]any, 0, len(part)*columns)
	rows := make([]string, 0, len(part))
	for _, one := range part {
		rows = append(rows, "("+sqldb.In(len(args)+1, columns)+")")
		args = append(args, col.id, one.slot, one.key, one.record)
	}
	return strings.Join(rows, ", "), args
}

// remove takes the entries away.
func (e *entries) remove(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	for _, one := range e.terms {
		_, err := tx.Exec(ctx, `DELETE FROM collection_terms WHERE collection_id = $1 AND slot = $2 AND term = $3 AND record_id = $4`,
			col.id, one.slot, one.key, one.record)
		if err != nil {
			return err
		}
	}
	for _, held := range e.held {
		for _, one := range held {
			_, err := tx.Exec(ctx, `DELETE FROM collection_uniques WHERE collection_id = $1 AND slot = $2 AND digest = $3 AND record_id = $4`,
				col.id, one.slot, one.key, one.record)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
