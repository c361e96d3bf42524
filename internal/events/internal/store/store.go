// Package store finds events in the log's own table. What the database can decide it decides: the workspace, types, times and
// what the caller may read. The rest is decided by the filter while events stream by, in the order of the log.
package store

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// Store is the SQL store of events. An event is found as soon as whoever emitted it has the answer.
type Store struct{ DB *sqldb.DB }

// Search is what is looked for.
type Search struct {
	// WorkspaceID is the workspace that is searched. Everywhere searches them all instead, or those whose id fits Fitting.
	WorkspaceID string
	Everywhere  bool
	Fitting     func(workspaceID string) bool
	// Readable are the events that the caller may read. Its parameters are numbered from sqlbus.FirstArg.
	Readable access.Filter
	// Filter is what is asked of the events.
	Filter query.Filter
	// After and Before bound the positions; both are exclusive, and zero does not limit.
	After, Before bus.Position
	// Ascending gives the oldest first.
	Ascending bool
}

// plan puts the bounds of the search and of its filter together.
func (s Search) plan() query.Plan {
	p := s.Filter.Plan()
	p.After = max(p.After, s.After)
	if s.Before > 0 && (p.Before == 0 || s.Before < p.Before) {
		p.Before = s.Before
	}
	p.Nothing = p.Nothing || s.Readable.Nothing || p.Before > 0 && p.After >= p.Before-1
	p.Exact = p.Exact && s.Fitting == nil
	return p
}

// where is the part of a query that the plan and the caller's rights make.
func (s Search) where(p query.Plan) sqlbus.PageQuery {
	q := sqlbus.PageQuery{After: p.After, Before: p.Before, Ascending: s.Ascending}
	if !s.Readable.Everything {
		q.Where, q.Args = s.Readable.SQL, s.Readable.Args
	}
	return q
}

// Each calls visit with the events that match, in the order of the log, until it returns false.
func (s *Store) Each(ctx context.Context, search Search, visit func(d *query.Document) (bool, error)) error {
	p := search.plan()
	if p.Nothing {
		return nil
	}
	decided := p.Exact && !p.Shallow
	events := s.streams(search, p)
	for {
		event, ok, err := events.next(ctx)
		if err != nil || !ok {
			return err
		}
		if search.Fitting != nil && !search.Fitting(event.WorkspaceID) {
			continue
		}
		d := query.Read(event)
		if !decided && !search.Filter.Match(d) {
			continue
		}
		if more, err := visit(d); err != nil || !more {
			return err
		}
	}
}

// Page gives the events that match, after passing over some.
func (s *Store) Page(ctx context.Context, search Search, offset, limit int) ([]*query.Document, error) {
	found := make([]*query.Document, 0, min(limit, largestBatch))
	if limit == 0 {
		return found, nil
	}
	err := s.Each(ctx, search, func(d *query.Document) (bool, error) {
		if offset > 0 {
			offset--
			return true, nil
		}
		found = append(found, d)
		return len(found) < limit, nil
	})
	return found, err
}
