// Package store finds events. What an index can decide it decides: the workspace, types, times and what the caller may read.
// The rest is decided by the filter while events stream by, in the order of the log. Answers are the same with every index.
package store

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// Store finds events with an index.
type Store struct {
	DB    *sqldb.DB
	Index Index
}

// Index gives the events that may match a search.
type Index interface {
	// Candidates opens the events that may match, in the order of the log.
	Candidates(ctx context.Context, search Search) (*Candidates, error)
	// Count counts what matches without reading it, up to most unless that is zero; false when it cannot.
	Count(ctx context.Context, search Search, most int) (count int, counted bool, err error)
	// Tally counts aggregations without reading events; false when it cannot.
	Tally(ctx context.Context, search Search, collector *query.Collector) (bool, error)
	// Types lists the types of the events of a workspace, up to most.
	Types(ctx context.Context, workspaceID string, most int) ([]string, error)
}

// Search is what is looked for.
type Search struct {
	// WorkspaceID is the workspace that is searched. Everywhere searches them all instead, or those whose id fits Fitting.
	WorkspaceID string
	Everywhere  bool
	Fitting     func(workspaceID string) bool
	// Readable are the events that the caller may read, for databases. Its parameters are numbered from sqlbus.FirstArg.
	Readable access.Filter
	// May is the same, decided event by event; nil when everything may be read. Outline is what all those events fulfil, and
	// some others.
	May     func(d *query.Document) bool
	Outline query.Filter
	// Filter is what is asked of the events.
	Filter query.Filter
	// After and Before bound the positions; both are exclusive, and zero does not limit.
	After, Before bus.Position
	// Ascending gives the oldest first.
	Ascending bool
}

// Plan puts the bounds of the search and of its filter together.
func (s Search) Plan() query.Plan {
	p := s.Filter.Plan()
	p.After = max(p.After, s.After)
	if s.Before > 0 && (p.Before == 0 || s.Before < p.Before) {
		p.Before = s.Before
	}
	p.Nothing = p.Nothing || s.Readable.Nothing || p.Before > 0 && p.After >= p.Before-1
	p.Exact = p.Exact && s.Fitting == nil
	return p
}

// Each calls visit with the events that match, in the order of the log, until it returns false.
func (s *Store) Each(ctx context.Context, search Search, visit func(d *query.Document) (bool, error)) error {
	if search.Plan().Nothing {
		return nil
	}
	events, err := s.Index.Candidates(ctx, search)
	if err != nil {
		return err
	}
	for {
		event, ok, err := events.next(ctx)
		if err != nil || !ok {
			return err
		}
		d := query.Read(event)
		if !events.matches(search, d) {
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

// Count tells how many events match, up to most. False means that it was not found out: the index alone cannot tell, and
// more than patience events would have to be looked at.
func (s *Store) Count(ctx context.Context, search Search, most, patience int) (count int, counted bool, err error) {
	if search.Plan().Nothing {
		return 0, true, nil
	}
	if count, counted, err = s.Index.Count(ctx, search, most); err != nil || counted {
		return count, counted, err
	}
	if beyond, err := s.beyond(ctx, search, patience); err != nil || beyond {
		return 0, false, err
	}
	events, err := s.Index.Candidates(ctx, search)
	if err != nil {
		return 0, false, err
	}
	for seen := 0; count < most; {
		event, ok, err := events.next(ctx)
		if err != nil || !ok {
			return count, true, err
		}
		if seen++; seen > patience {
			return count, false, nil
		}
		if events.matches(search, query.Read(event)) {
			count++
		}
	}
	return count, true, nil
}

// beyond tells, where the index knows it without reading events, that there are more than so many candidates.
func (s *Store) beyond(ctx context.Context, search Search, patience int) (bool, error) {
	index, able := s.Index.(interface {
		Beyond(ctx context.Context, search Search, most int) (bool, error)
	})
	if !able {
		return false, nil
	}
	return index.Beyond(ctx, search, patience)
}
