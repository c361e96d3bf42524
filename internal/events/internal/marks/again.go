package marks

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Again notes, in the transaction that removes or changes events, that their marks are to be made anew.
func (m Marks) Again(ctx context.Context, tx *sqldb.Tx, at []bus.Position) error {
	type ends struct{ first, last bus.Position }
	parts := map[int]ends{}
	for _, position := range at {
		e, known := parts[position.Partition()]
		if !known {
			e.first = position
		}
		parts[position.Partition()] = ends{min(e.first, position), max(e.last, position)}
	}
	for _, partition := range slices.Sorted(maps.Keys(parts)) {
		e := parts[partition]
		if _, err := changes(ctx, tx, partition, 1); err != nil { // first: it waits for whoever stores a group
			return errs.Wrap(err, "count changes of events")
		}
		_, err := tx.Exec(ctx, `UPDATE events_mark_groups SET thinned = thinned + 1 WHERE partition = $1 AND after_pos < $2 AND last_pos >= $3`,
			partition, int64(e.last), int64(e.first))
		if err != nil {
			return errs.Wrap(err, "note marks of events to be made anew")
		}
	}
	return nil
}

// changes counts how often events of a partition were removed or changed, some more times. Whoever has it holds it until the
// transaction ends.
func changes(ctx context.Context, tx *sqldb.Tx, partition, more int) (count int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO events_mark_changes (partition, count) VALUES ($1, $2)
		ON CONFLICT (partition) DO UPDATE SET count = events_mark_changes.count + $2 RETURNING count`, partition, more).Scan(&count)
	return count, err
}
