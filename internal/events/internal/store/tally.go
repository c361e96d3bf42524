package store

import (
	"context"
	"database/sql"
	"time"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// maxIntervals is how many intervals are counted one by one. With more of them it is quicker to read the events.
const maxIntervals = 3000

// Tally implements Index: it counts by the indexes alone, of which those who may read everything can be told.
func (s SQL) Tally(ctx context.Context, search Search, collector *query.Collector) (bool, error) {
	workspaceID, p := search.WorkspaceID, search.Plan()
	tallies, ok := collector.Tallies()
	if !ok || !search.counts(p) || !search.Readable.Everything {
		return false, nil
	}
	if len(tallies) == 0 {
		return true, nil
	}
	gone, err := s.transient(ctx, workspaceID, p)
	if err != nil {
		return false, err
	}
	first, last, err := s.ends(ctx, workspaceID, p)
	if err != nil || first == 0 {
		return err == nil, err
	}
	for _, t := range tallies { // before anything is counted
		if !t.ByType() && intervals(t, first, last) > maxIntervals {
			return false, nil
		}
	}
	for _, t := range tallies {
		if t.ByType() {
			err = s.byType(ctx, workspaceID, p, t, gone)
		} else {
			err = s.byTime(ctx, timed{workspaceID: workspaceID, plan: p, first: first, last: last, gone: gone}, t)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func intervals(t query.Tally, first, last bus.Position) (count int) {
	for at := first.Time(); !at.After(last.Time()) && count <= maxIntervals; count++ {
		_, at = t.Interval(at)
	}
	return count
}

// ends are the first and the last position within a plan; zero when there are none.
func (s SQL) ends(ctx context.Context, workspaceID string, p query.Plan) (first, last bus.Position, err error) {
	for _, part := range apart(p) { // the ends of one type are found at once, those of several are not
		where, args := conditions(`workspace_id = $1`, workspaceID, part)
		var least, most sql.NullInt64
		if err := s.DB.QueryRow(ctx, `SELECT MIN(pos) FROM bus_events `+where, args...).Scan(&least); err != nil {
			return 0, 0, errs.Wrap(err, "find the first event of a workspace")
		}
		if err := s.DB.QueryRow(ctx, `SELECT MAX(pos) FROM bus_events `+where, args...).Scan(&most); err != nil {
			return 0, 0, errs.Wrap(err, "find the last event of a workspace")
		}
		if least.Valid && (first == 0 || bus.Position(least.Int64) < first) {
			first = bus.Position(least.Int64)
		}
		last = max(last, bus.Position(most.Int64))
	}
	return first, last, nil
}

func (s SQL) byType(ctx context.Context, workspaceID string, p query.Plan, t query.Tally, gone []passing) error {
	type counted struct {
		eventType string
		count     int
	}
	where, args := conditions(`workspace_id = $1`, workspaceID, p)
	all, err := sqldb.All(ctx, s.DB, func(rows *sql.Rows) (c counted, err error) {
		err = rows.Scan(&c.eventType, &c.count)
		return c, err
	}, `SELECT type, COUNT(*) FROM bus_events `+where+` GROUP BY type`, args...)
	if err != nil {
		return errs.Wrap(err, "count the events of a workspace by type")
	}
	less := map[string]int{}
	for _, e := range gone {
		less[e.eventType]++
	}
	for _, c := range all {
		if err := t.Type(c.eventType, c.count-less[c.eventType]); err != nil {
			return err
		}
	}
	return nil
}

// timed is what is counted by time.
type timed struct {
	workspaceID string
	plan        query.Plan
	first, last bus.Position
	gone        []passing
}

func (s SQL) byTime(ctx context.Context, of timed, t query.Tally) error {
	for at := of.first.Time(); !at.After(of.last.Time()); {
		from, next := t.Interval(at)
		part := between(of.plan, from, next)
		count, err := s.all(ctx, of.workspaceID, part, 0)
		if err != nil {
			return err
		}
		for _, e := range of.gone {
			if e.at > part.After && e.at < part.Before {
				count--
			}
		}
		if err := t.Time(from, count); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// between is the part of a plan from one time up to another.
func between(p query.Plan, from, to time.Time) query.Plan {
	p.After = max(p.After, bus.PositionAt(from, 0)-1)
	if before := bus.PositionAt(to, 0); p.Before == 0 || before < p.Before {
		p.Before = before
	}
	return p
}
