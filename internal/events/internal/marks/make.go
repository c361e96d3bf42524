package marks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// atOnce is how many events are read at once: few where few fill a group.
func (s Sizes) atOnce() int { return max(1, min(1024, s.Most/4096)) }

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
	partition     int
	after, last   bus.Position
	events, marks int
	built         int64
	// thinned is how often events were removed or changed since; where a group is stored, how much of that is dealt with.
	thinned int64
	// whole is what built was when all there is to a group was made last; another one tells that somebody who knows less made it.
	whole int64
}

const madeColumns = `partition, after_pos, last_pos, events, marks, built, thinned, whole`

func scanMade(rows *sql.Rows) (g made, err error) {
	err = rows.Scan(&g.partition, &g.after, &g.last, &g.events, &g.marks, &g.built, &g.thinned, &g.whole)
	return g, err
}

// makeNext makes a group anew, and one for new events, and tells whether there may be more to do.
func (m Marks) makeNext(ctx context.Context, partition int) (more bool, err error) {
	anew, err := m.makeAnew(ctx, partition)
	if err != nil {
		return false, err
	}
	further, err := m.makeFurther(ctx, partition)
	return anew || further, err
}

// makeAnew makes the newest group anew that is to be.
func (m Marks) makeAnew(ctx context.Context, partition int) (more bool, err error) {
	old, err := sqldb.All(ctx, m.DB, scanMade, `SELECT `+madeColumns+` FROM events_mark_groups
		WHERE partition = $1 AND (thinned > 0 OR whole <> built) ORDER BY after_pos DESC LIMIT 1`, partition)
	if err != nil || len(old) == 0 {
		return false, err
	}
	return true, m.write(ctx, old[0], newGroup(m.sizes()), Range{After: old[0].after, Before: old[0].last + 1})
}

// makeFurther makes marks of new events, when there are enough.
func (m Marks) makeFurther(ctx context.Context, partition int) (more bool, err error) {
	newest, err := sqldb.All(ctx, m.DB, scanMade, `SELECT `+madeColumns+` FROM events_mark_groups
		WHERE partition = $1 ORDER BY after_pos DESC LIMIT 1`, partition)
	if err != nil {
		return false, err
	}
	sizes := m.sizes()
	next := made{partition: partition}
	if len(newest) > 0 {
		next = newest[0]
		switch {
		case next.events >= sizes.Block*sizes.Blocks || next.marks >= sizes.Most:
			next = made{partition: partition, after: next.last, last: next.last}
		case next.thinned > 0 || next.whole != next.built:
			return false, nil // it comes first
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
	return true, m.write(ctx, next, open, Range{After: max(next.after, open.last())})
}

// open is a group as it was made, to add events to it: its whole blocks. What follows them is read again.
func (m Marks) open(ctx context.Context, g made) (*group, error) {
	marks := newGroup(m.sizes())
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
			marks.begin(ends, g.events)
		}
		marks.restore(bucket, list)
	}
	return marks, rows.Err()
}

// write adds the events of a part of the log to a group, as many as belong to it, and stores it.
func (m Marks) write(ctx context.Context, g made, marks *group, from Range) error {
	anew := from.Before > 0
	var before int64
	err := m.DB.QueryRow(ctx, `SELECT COALESCE(MAX(count), 0) FROM events_mark_changes WHERE partition = $1`, g.partition).Scan(&before)
	if err != nil {
		return err
	}
	last, err := m.readAll(ctx, marks, g.partition, from)
	if err != nil {
		return err
	}
	if anew {
		last = from.Before - 1
	}
	stored := marks.finish()
	return m.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if marks.count == 0 {
			return drop(ctx, tx, g)
		}
		now, err := changes(ctx, tx, g.partition, 0)
		if err != nil {
			return err
		}
		done := g
		if !anew && now != before { // perhaps what was read, and nobody could note it in the group
			done.thinned--
		}
		done.last, done.events, done.marks = last, marks.count, marks.size
		return store(ctx, tx, done, marks.ends, stored)
	})
}

// readAll adds the events of a part of the log to a group, as many as belong to it, and tells where the last is.
func (m Marks) readAll(ctx context.Context, into *group, partition int, from Range) (last bus.Position, err error) {
	sizes, last := m.sizes(), from.After
	for most := sizes.Block * sizes.Blocks; into.count < most && (from.Before > 0 || into.size < sizes.Most); {
		asked := min(sizes.atOnce(), most-into.count)
		at, n, err := m.read(ctx, into, partition, Range{After: last, Before: from.Before}, asked)
		if err != nil {
			return 0, err
		}
		if n > 0 {
			last = at
		}
		if n < asked {
			break
		}
	}
	return last, nil
}

// read adds the next events to a group.
func (m Marks) read(ctx context.Context, into *group, partition int, from Range, most int) (last bus.Position, count int, err error) {
	text, args := `SELECT pos, workspace_id, type, body FROM bus_events WHERE partition = $1 AND pos > $2 AND transient = 0`, []any{partition, int64(from.After), most}
	if from.Before > 0 {
		text, args = text+` AND pos < $4`, append(args, int64(from.Before))
	}
	rows, err := m.DB.Query(ctx, text+` ORDER BY pos LIMIT $3`, args...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var e bus.Event
	var body sql.RawBytes // not kept: a group is many events
	for rows.Next() {
		if err := rows.Scan(&e.Position, &e.WorkspaceID, &e.Type, &body); err != nil {
			return 0, 0, err
		}
		e.Body = json.RawMessage(body)
		into.add(e)
		count++
	}
	return e.Position, count, rows.Err()
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
func store(ctx context.Context, tx *sqldb.Tx, g made, ends []byte, stored [allBuckets][]byte) error {
	n, err := tx.Exec(ctx, `INSERT INTO events_mark_groups (`+madeColumns+`, block_ends) VALUES ($1, $2, $3, $4, $5, $6, 0 - $8, $6, $7)
		ON CONFLICT (partition, after_pos) DO UPDATE SET last_pos = $3, events = $4, marks = $5, built = $6, whole = $6,
			thinned = events_mark_groups.thinned - $8, block_ends = $7
		WHERE events_mark_groups.built = $9`,
		g.partition, int64(g.after), int64(g.last), g.events, g.marks, g.built+1, ends, g.thinned, g.built)
	if err != nil || n == 0 {
		return err
	}
	if err := forget(ctx, tx, g); err != nil {
		return err
	}
	const together = 32
	var values []string
	var args []any
	for bucket, marks := range stored {
		if len(marks) > 0 {
			values = append(values, `(`+sqldb.In(len(args)+1, 4)+`)`)
			args = append(args, g.partition, bucket, int64(g.after), marks)
		}
		if len(values) == 0 || len(values) < together && bucket < len(stored)-1 {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO events_marks (partition, bucket, after_pos, marks) VALUES `+strings.Join(values, ", "), args...); err != nil {
			return err
		}
		values, args = nil, nil
	}
	return nil
}
