package marks

import (
	"context"
	"database/sql"
	"encoding/binary"
	"slices"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// Range is a part of the log between two positions, both of which are not part of it. Zero does not bound.
type Range struct{ After, Before bus.Position }

// Wanted is what is looked for.
type Wanted struct {
	WorkspaceID string
	// Within bounds where.
	Within    Range
	Ascending bool
	// Needs are what events have, something of each.
	Needs []query.Need
}

// Ranges are the parts of a partition where an event may be that is wanted, in order, one after the other. What has no marks is
// one of them.
type Ranges struct {
	marks   Marks
	wanted  Wanted
	buckets []any

	queue []Range
	rest  Range // where nobody has looked yet
	ended bool
	most  int // how many groups are looked at next
}

const (
	mostNeeds = 4
	mostMarks = 32
	mostOnce  = 256 // groups
)

// Find tells where to look. It is false where marks are of no use: nothing is known of what is wanted, or too much.
func (m Marks) Find(wanted Wanted) (*Ranges, bool) {
	needs := slices.Clone(wanted.Needs)
	slices.SortStableFunc(needs, func(a, b query.Need) int { return len(a.Marks) - len(b.Marks) })
	r := &Ranges{marks: m, wanted: wanted, rest: wanted.Within, most: 4}
	r.wanted.Needs = nil
	count := 0
	for _, need := range needs {
		if count += len(need.Marks) + len(need.Lacks); count > mostMarks || len(r.wanted.Needs) == mostNeeds {
			break
		}
		r.wanted.Needs = append(r.wanted.Needs, need)
		r.read(need)
	}
	return r, len(r.wanted.Needs) > 0
}

// read notes which buckets tell of a need.
func (r *Ranges) read(need query.Need) {
	note := func(bucket int64) {
		if !slices.Contains(r.buckets, any(bucket)) {
			r.buckets = append(r.buckets, bucket)
		}
	}
	for _, mark := range need.Marks {
		note(bucketOf(mark))
	}
	for _, path := range need.Lacks {
		note(int64(heldBucket(path)))
	}
	if need.Words {
		note(wordless)
	}
}

// Next gives the next range; false when there is none any more.
func (r *Ranges) Next(ctx context.Context) (Range, bool, error) {
	for len(r.queue) == 0 && !r.ended {
		if err := r.look(ctx); err != nil {
			return Range{}, false, errs.Wrap(err, "look for marks of events")
		}
	}
	if len(r.queue) == 0 {
		return Range{}, false, nil
	}
	next := r.queue[0]
	r.queue = r.queue[1:]
	return next, true, nil
}

// found is a group with its marks of the buckets that are asked for.
type found struct {
	made
	marks map[int64][]byte
}

// look goes through the next groups. Each group is read with its marks at once, so that they belong together whoever makes them
// anew meanwhile.
func (r *Ranges) look(ctx context.Context) error {
	groups, err := r.groups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		inside, err := r.inside(ctx, g)
		if err != nil {
			return err
		}
		within := r.rest
		if r.wanted.Ascending {
			r.add(Range{within.After, g.after + 1}, within)
			r.rest.After = max(within.After, g.last)
		} else {
			r.add(Range{g.last, within.Before}, within)
			r.rest.Before = g.after + 1
			slices.Reverse(inside)
		}
		for _, part := range inside {
			r.add(part, within)
		}
	}
	if len(groups) < r.most {
		r.ended = true
		r.add(r.rest, r.rest)
	}
	r.most = min(r.most*4, mostOnce)
	return nil
}

func (r *Ranges) groups(ctx context.Context) (groups []*found, err error) {
	text, args := `SELECT partition, after_pos, last_pos, built, whole, thinned FROM events_mark_groups WHERE partition = $1 AND last_pos > $2`,
		[]any{bus.PartitionOf(r.wanted.WorkspaceID), int64(r.rest.After), r.most}
	if r.rest.Before > 0 {
		args = append(args, int64(r.rest.Before-1))
		text += ` AND after_pos < $4`
	}
	order := ` DESC`
	if r.wanted.Ascending {
		order = ``
	}
	text = `SELECT g.after_pos, g.last_pos, g.built, g.whole, g.thinned, m.bucket, m.marks FROM (` + text + ` ORDER BY after_pos` + order + ` LIMIT $3) AS g
		LEFT JOIN events_marks m ON m.partition = g.partition AND m.after_pos = g.after_pos AND m.bucket IN (` + sqldb.In(len(args)+1, len(r.buckets)) + `)
		ORDER BY g.after_pos` + order
	rows, err := r.marks.DB.Query(ctx, text, append(args, r.buckets...)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		g := &found{made: made{partition: bus.PartitionOf(r.wanted.WorkspaceID)}, marks: map[int64][]byte{}}
		var bucket sql.NullInt64
		var marks []byte
		if err := rows.Scan(&g.after, &g.last, &g.built, &g.whole, &g.thinned, &bucket, &marks); err != nil {
			return nil, err
		}
		if len(groups) == 0 || groups[len(groups)-1].after != g.after {
			groups = append(groups, g)
		}
		groups[len(groups)-1].marks[bucket.Int64] = marks
	}
	return groups, rows.Err()
}

// sure tells that a group knows of words and of what is held: it was made with them, and no event lost a field since. Marks of
// values stay good enough.
func (g made) sure() bool { return g.whole == g.built && g.thinned == 0 }

// candidates are the blocks of a group where an event may be; nil when it may be anywhere.
func (r *Ranges) candidates(g *found) (all blocks) {
	for _, need := range r.wanted.Needs {
		if (need.Words || len(need.Lacks) > 0) && !g.sure() {
			continue
		}
		one := make(blocks, mostBlocks)
		for _, mark := range need.Marks {
			one.find(g.marks[bucketOf(mark)], mark)
		}
		for _, path := range need.Lacks {
			one.lack(g.marks[int64(heldBucket(path))], path)
		}
		if need.Words {
			one.find(g.marks[wordless], query.Wordless(r.wanted.WorkspaceID))
		}
		if all == nil {
			all = one
		} else {
			all.keep(one)
		}
	}
	return all
}

// inside are the parts of a group where an event may be, the oldest first.
func (r *Ranges) inside(ctx context.Context, g *found) ([]Range, error) {
	candidates := r.candidates(g)
	if candidates == nil || !slices.Contains(candidates, false) {
		return []Range{{g.after, g.last + 1}}, nil
	}
	if !slices.Contains(candidates, true) {
		return nil, nil
	}
	var ends []byte
	err := r.marks.DB.QueryRow(ctx, `SELECT block_ends FROM events_mark_groups WHERE partition = $1 AND after_pos = $2 AND built = $3`,
		g.partition, int64(g.after), g.built).Scan(&ends)
	switch {
	case sqldb.IsNotFound(err): // it is another group by now
		return []Range{{g.after, g.last + 1}}, nil
	case err != nil:
		return nil, err
	}
	var parts []Range
	after := g.after
	for i := range len(ends) / endBytes {
		end := bus.Position(binary.LittleEndian.Uint64(ends[i*endBytes:])) //nolint:gosec // it was a position
		if candidates[i] {
			parts = append(parts, Range{after, end + 1})
		}
		after = end
	}
	return parts, nil
}

// add appends what a part has within another one. Where it touches the one before they become one: to read a few more events is
// quicker than to ask twice.
func (r *Ranges) add(part, within Range) {
	part.After = max(part.After, within.After)
	if within.Before > 0 && (part.Before == 0 || part.Before > within.Before) {
		part.Before = within.Before
	}
	if part.Before > 0 && part.After >= part.Before-1 {
		return
	}
	if len(r.queue) > 0 {
		last := &r.queue[len(r.queue)-1]
		switch {
		case r.wanted.Ascending && last.Before == part.After+1:
			last.Before = part.Before
			return
		case !r.wanted.Ascending && last.After+1 == part.Before:
			last.After = part.After
			return
		}
	}
	r.queue = append(r.queue, part)
}
