package marks

import (
	"context"

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
	for partition, e := range parts {
		_, err := tx.Exec(ctx, `UPDATE events_mark_groups SET thinned = thinned + 1 WHERE partition = $1 AND after_pos < $2 AND last_pos >= $3`,
			partition, int64(e.last), int64(e.first))
		if err != nil {
			return errs.Wrap(err, "note marks of events to be made anew")
		}
	}
	return nil
}
