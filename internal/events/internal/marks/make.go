package marks

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// readAtOnce is how many events are read at once.
const readAtOnce = 1024

// Make makes the marks that are missing, and makes those anew from which events were removed. It may be interrupted at any time:
// each group is there as a whole or not at all, and the next call goes on.
func (m Marks) Make(ctx context.Context) error {
	for partition := range bus.Partitions {
		for more := true; more; {
			var err error
			if more, err = m.makeNext(ctx, partition); err != nil {
				return errs.Wrap(err, "make marks of events")
			}
		}
	}
	return nil
}

// made is a group as the database has it; with zero for built it is to be made.
type made struct {
	partition      int
	after, last    bus.Position
	events         int
	built, thinned int64
}

const madeColumns = `partition, after_pos, last_pos, events, built, thinned`

func scanMade(rows *sql.Rows) (g made, err error) {
	err = rows.Scan(&g.partition, &g.after, &g.last, &g.events, &g.built, &g.thinned)
	return g, err
}

// makeNext makes one group and tells whether there may be more to do.
func (m Marks) makeNext(ctx context.Context, partition int) (more bool, err error) {
	thinned, err := sqldb.All(ctx, m.DB, scanMade, `SELECT `+madeColumns+` FROM events_mark_groups
		WHERE partition = $1 AND thinned > 0 ORDER BY after_pos LIMIT 1`, partition)
	if err != nil {
		return false, err
	}
	if len(thinned) > 0 {
		g := thinned[0]
		return true, m.write(ctx, g, newGroup(m.sizes().Block), Range{After: g.after, Before: g.last + 1})
	}
	newest, err := sqldb.All(ctx, m.DB, scanMade, `SELECT `+madeColumns+` FROM events_mark_groups
		WHERE partition = $1 ORDER BY after_pos DESC LIMIT 1`, partition)
	if err != nil {
		return false, err
	}
	sizes := m.sizes()
	next := made{partition: partition}
	if len(newest) > 0 {
		if next = newest[0]; next.events >= sizes.Block*sizes.Blocks {
			next = made{partition: partition, after: next.last, last: next.last}
		}
	}
	waiting, least := 0, sizes.least(next.events)
	err = m.DB.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM bus_events
		WHERE partition = $1 AND pos > $2 AND transient = 0 LIMIT $3) AS waiting`, partition, int64(next.last), least).Scan(&waiting)
	if err != nil || waiting < least {
		return false, err
	}
	open, err := m.open(ctx, next)
	if err != nil {
		return false, err
	}
	return true, m.write(ctx, next, open, Range{After: next.last})
}

// open is a group as it was made, to add events to it.
func (m Marks) open(ctx context.Context, g made) (*group, error) {
	marks := newGroup(m.sizes().Block)
	if g.built == 0 {
		return marks, nil
	}
	// at once, so that the ends belong to the marks whoever makes them anew meanwhile
	rows, err := m.DB.Query(ctx, `SELECT g.block_ends, m.bucket, m.marks FROM events_mark_groups g
		JOIN events_marks m ON m.partition = g.partition AND m.after_pos = g.after_pos
		WHERE g.partition = $1 AND g.after_pos = $2 AND g.built = $3`, g.partition, int64(g.after), g.built)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var bucket int64
	var ends, list sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&ends, &bucket, &list); err != nil {
			return nil, err
		}
		if marks.ends == nil {
			marks.ends, marks.count = slices.Clone(ends), g.events
		}
		marks.restore(bucket, list)
	}
	return marks, rows.Err()
}

// write adds the events of a part of the log to a group, as many as belong to it, and stores it.
func (m Marks) write(ctx context.Context, g made, marks *group, from Range) error {
	sizes, last := m.sizes(), from.After
	for most := sizes.Block * sizes.Blocks; marks.count < most; {
		asked := min(readAtOnce, most-marks.count)
		at, n, err := m.read(ctx, marks, g.partition, Range{After: last, Before: from.Before}, asked)
		if err != nil {
			return err
		}
		if n > 0 {
			last = at
		}
		if n < asked {
			break
		}
	}
	if from.Before > 0 {
		last = from.Before - 1
	}
	return m.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if marks.count == 0 {
			return drop(ctx, tx, g)
		}
		return store(ctx, tx, g, last, marks)
	})
}

// read adds the next events to a group.
func (m Marks) read(ctx context.Context, into *group, partition int, from Range, most int) (last bus.Position, count int, err error) {
	text, args := `SELECT pos, workspace_id, body FROM bus_events WHERE partition = $1 AND pos > $2 AND transient = 0`, []any{partition, int64(from.After), most}
	if from.Before > 0 {
		text, args = text+` AND pos < $4`, append(args, int64(from.Before))
	}
	rows, err := m.DB.Query(ctx, text+` ORDER BY pos LIMIT $3`, args...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var workspaceID string
	var body sql.RawBytes // not kept: a group is many events
	for rows.Next() {
		if err := rows.Scan(&last, &workspaceID, &body); err != nil {
			return 0, 0, err
		}
		into.add(last, workspaceID, body)
		count++
	}
	return last, count, rows.Err()
}

// drop removes a group without events.
func drop(ctx context.Context, tx *sqldb.Tx, g made) error {
	n, err := tx.Exec(ctx, `DELETE FROM events_mark_groups WHERE partition = $1 AND after_pos = $2 AND built = $3`, g.partition, int64(g.after), g.built)
	if err != nil || n == 0 {
		return err
	}
	return forget(ctx, tx, g)
}

func forget(ctx context.Context, tx *sqldb.Tx, g made) error {
	_, err := tx.Exec(ctx, `DELETE FROM events_marks WHERE partition = $1 AND after_pos = $2`, g.partition, int64(g.after))
	return err
}

// store writes a group in place of what it was. Somebody else who made it meanwhile has done it.
func store(ctx context.Context, tx *sqldb.Tx, g made, last bus.Position, marks *group) error {
	n, err := tx.Exec(ctx, `INSERT INTO events_mark_groups (`+madeColumns+`, block_ends) VALUES ($1, $2, $3, $4, $5, 0, $6)
		ON CONFLICT (partition, after_pos) DO UPDATE SET last_pos = $3, events = $4, built = $5, thinned = events_mark_groups.thinned - $7, block_ends = $6
		WHERE events_mark_groups.built = $8`,
		g.partition, int64(g.after), int64(last), marks.count, g.built+1, marks.ends, g.thinned, g.built)
	if err != nil || n == 0 {
		return err
	}
	if err := forget(ctx, tx, g); err != nil {
		return err
	}
	const together = 32
	for numbers := range slices.Chunk(bucketNumbers(), together) {
		var values []string
		var args []any
		for _, bucket := range numbers {
			if encoded := marks.encoded(bucket); len(encoded) > 0 {
				values = append(values, `(`+sqldb.In(len(args)+1, 4)+`)`)
				args = append(args, g.partition, bucket, int64(g.after), encoded)
			}
		}
		if len(values) == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO events_marks (partition, bucket, after_pos, marks) VALUES `+strings.Join(values, ", "), args...); err != nil {
			return err
		}
	}
	return nil
}

func bucketNumbers() []int {
	all := make([]int, buckets)
	for i := range all {
		all[i] = i
	}
	return all
}
