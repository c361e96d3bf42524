package store

import (
	"context"

	"atelier/internal/bus"
	"atelier/internal/events/internal/marks"
	"atelier/internal/events/internal/query"
)

// mostRare is with how many types marks are looked at: once for each.
const mostRare = 8

// rare reads the events of a workspace, and of them only where marks tell that some may match. What is frequent has marks
// everywhere, and is read as if there were none.
func (s SQL) rare(search Search, p query.Plan, types int) Read {
	wanted := marks.Wanted{
		WorkspaceID: search.WorkspaceID, Ascending: search.Ascending,
		Within: marks.Range{After: p.After, Before: p.Before}, Needs: search.Filter.Needs(search.WorkspaceID),
	}
	ranges, of := marks.Marks{DB: s.DB}.Find(wanted)
	if !of || types > mostRare {
		return s.workspace(search, p)
	}
	r := &rareRead{ranges: ranges, read: s.workspace(search, p)}
	return r.next
}

// rareRead reads one range after the other.
type rareRead struct {
	ranges *marks.Ranges
	read   Read
	in     marks.Range
	open   bool
}

func (r *rareRead) next(ctx context.Context, after, before bus.Position, limit int) (events []bus.Event, err error) {
	for len(events) < limit {
		if !r.open {
			if r.in, r.open, err = r.ranges.Next(ctx); err != nil || !r.open {
				return events, err
			}
		}
		from, to := max(r.in.After, after), r.in.Before
		if before > 0 && (to == 0 || before < to) {
			to = before
		}
		asked := limit - len(events)
		some, err := r.read(ctx, from, to, asked)
		if err != nil {
			return nil, err
		}
		events = append(events, some...)
		r.open = len(some) == asked
	}
	return events, nil
}
