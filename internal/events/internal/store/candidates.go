package store

import (
	"context"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
)

// How many events are read at once: a few at first, because most searches need no more.
const (
	smallestBatch = 64
	largestBatch  = 512
)

// Read reads at most limit events between two positions in the order of the log; with fewer there are no more. Zero does not
// bound.
type Read func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error)

// Candidates are events that may match a search, as ordered streams that are read as one.
type Candidates struct {
	parts     []*stream
	ascending bool
	// readable and matching tell that all of them may be read, and that all match.
	readable, matching bool
}

// Known is what an index knows of all candidates.
type Known struct {
	// Readable tells that the caller may read them, Matching that they match the filter.
	Readable, Matching bool
}

// NewCandidates puts streams together.
func NewCandidates(search Search, known Known, reads ...Read) *Candidates {
	p := search.Plan()
	all := &Candidates{ascending: search.Ascending, readable: known.Readable || search.May == nil, matching: known.Matching}
	for _, read := range reads {
		all.parts = append(all.parts, &stream{
			read: read, after: p.After, before: p.Before, reverse: !search.Ascending, batch: max(8, smallestBatch/len(reads)),
		})
	}
	return all
}

// matches decides what the index did not.
func (c *Candidates) matches(search Search, d *query.Document) bool {
	return (search.Fitting == nil || search.Fitting(d.Stored().WorkspaceID)) &&
		(c.matching || search.Filter.Match(d)) && (c.readable || search.May(d))
}

// stream reads events in the order of the log, some at a time.
type stream struct {
	read    Read
	buffer  []bus.Event
	batch   int
	ended   bool
	after   bus.Position
	before  bus.Position
	reverse bool // the newest first
}

// next gives the event that comes first in the order of the log; false at the end.
func (c *Candidates) next(ctx context.Context) (event bus.Event, ok bool, err error) {
	var first *stream
	for _, part := range c.parts {
		there, err := part.fill(ctx)
		if err != nil {
			return event, false, err
		}
		if there && (first == nil || (part.buffer[0].Position < first.buffer[0].Position) == c.ascending) {
			first = part
		}
	}
	if first == nil {
		return event, false, ctx.Err()
	}
	event, first.buffer = first.buffer[0], first.buffer[1:]
	return event, true, ctx.Err()
}

// fill makes sure that the stream's next event is in its buffer; false when there is none.
func (s *stream) fill(ctx context.Context) (bool, error) {
	if len(s.buffer) > 0 {
		return true, nil
	}
	if s.ended {
		return false, nil
	}
	events, err := s.read(ctx, s.after, s.before, s.batch)
	if err != nil {
		return false, err
	}
	s.ended = len(events) < s.batch
	s.batch = min(s.batch*2, largestBatch)
	if len(events) == 0 {
		return false, nil
	}
	s.buffer = events
	if last := events[len(events)-1].Position; s.reverse {
		s.before = last
	} else {
		s.after = last
	}
	return true, nil
}
