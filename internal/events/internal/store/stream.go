package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// How many events are read at once: a few at first, because most searches need no more.
const (
	smallestBatch = 64
	largestBatch  = 512
)

// streams are ordered streams of events that are read as one.
type streams struct {
	parts     []*stream
	ascending bool
}

// stream reads events in the order of the log, some at a time.
type stream struct {
	read    func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error)
	buffer  []bus.Event
	batch   int
	ended   bool
	after   bus.Position
	before  bus.Position
	reverse bool // the newest first
}

// streams opens what a search reads. A database finds the newest event of one type at once, but not that of several: those
// are read side by side. So are the partitions when all workspaces are searched.
func (s *Store) streams(search Search, p query.Plan) *streams {
	all := &streams{ascending: search.Ascending}
	add := func(read func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error)) {
		all.parts = append(all.parts, &stream{read: read, after: p.After, before: p.Before, reverse: !search.Ascending})
	}
	switch {
	case search.Everywhere:
		for partition := range bus.Partitions {
			add(s.partition(search, p, partition))
		}
	case len(p.Equal) > 0:
		path, values := rarest(p)
		for _, value := range values {
			add(s.equal(search, p, path, value))
		}
	case len(p.Types) == 0:
		add(s.workspace(search, p))
	default:
		for _, eventType := range p.Types {
			one := p
			one.Types = []string{eventType}
			add(s.workspace(search, one))
		}
	}
	for _, part := range all.parts {
		part.batch = max(8, smallestBatch/len(all.parts))
	}
	return all
}

func (s *Store) workspace(search Search, p query.Plan) func(context.Context, bus.Position, bus.Position, int) ([]bus.Event, error) {
	return func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error) {
		q := search.where(p)
		q.After, q.Before, q.Limit, q.Types = after, before, limit, p.Types
		return sqlbus.Page(ctx, s.DB, search.WorkspaceID, q)
	}
}

// rarest is the path with an index that finds the fewest events, and the values that are asked for.
func rarest(p query.Plan) (path string, values []string) {
	for _, path := range query.Indexed() {
		if values := p.Equal[path]; values != nil {
			return path, values
		}
	}
	return "", nil
}

// equal reads the events of a workspace with a text at a path that has an index. The types are asked for in a way that no
// index serves: it would find more.
func (s *Store) equal(search Search, p query.Plan, path, value string) func(context.Context, bus.Position, bus.Position, int) ([]bus.Event, error) {
	return func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error) {
		q := search.where(p)
		q.After, q.Before, q.Limit = after, before, limit
		q.Args = slices.Clone(q.Args)
		bind := func(value any) string {
			q.Args = append(q.Args, value)
			return "$" + strconv.Itoa(sqlbus.FirstArg+len(q.Args)-1)
		}
		text := s.inBody(path) + ` = ` + bind(value)
		if len(p.Types) > 0 {
			names := make([]string, 0, len(p.Types))
			for _, eventType := range p.Types {
				names = append(names, bind(eventType))
			}
			text += ` AND type || '' IN (` + strings.Join(names, ", ") + `)`
		}
		if q.Where != "" {
			text = `(` + q.Where + `) AND ` + text
		}
		q.Where = text
		return sqlbus.Page(ctx, s.DB, search.WorkspaceID, q)
	}
}

// inBody is a text in the stored event, as its index has it.
func (s *Store) inBody(path string) string {
	if access.Dialect(s.DB.Driver()) == access.PostgreSQL {
		return `(body::json #>> '{` + strings.ReplaceAll(path, ".", ",") + `}')`
	}
	return `(body ->> '$.` + path + `')`
}

// partition reads a partition with the events of all its workspaces.
func (s *Store) partition(search Search, p query.Plan, partition int) func(context.Context, bus.Position, bus.Position, int) ([]bus.Event, error) {
	return func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error) {
		text := `SELECT pos, workspace_id, type, body FROM bus_events WHERE partition = $1 AND transient = 0`
		args := []any{partition}
		bind := func(value any) string {
			args = append(args, value)
			return "$" + strconv.Itoa(len(args))
		}
		if after > 0 {
			text += ` AND pos > ` + bind(int64(after))
		}
		if before > 0 {
			text += ` AND pos < ` + bind(int64(before))
		}
		if len(p.Types) > 0 {
			names := make([]string, 0, len(p.Types))
			for _, eventType := range p.Types {
				names = append(names, bind(eventType))
			}
			text += ` AND type IN (` + strings.Join(names, ", ") + `)`
		}
		order := ` ORDER BY pos DESC LIMIT `
		if search.Ascending {
			order = ` ORDER BY pos LIMIT `
		}
		events, err := sqldb.All(ctx, s.DB, scanEvent, text+order+bind(limit), args...)
		return events, errs.Wrap(err, "read the events of a partition")
	}
}

func scanEvent(rows *sql.Rows) (e bus.Event, err error) {
	var body []byte
	err = rows.Scan(&e.Position, &e.WorkspaceID, &e.Type, &body)
	e.Body = body
	return e, err
}

// next gives the event that comes first in the order of the log; false at the end.
func (s *streams) next(ctx context.Context) (event bus.Event, ok bool, err error) {
	var first *stream
	for _, part := range s.parts {
		there, err := part.fill(ctx)
		if err != nil {
			return event, false, err
		}
		if there && (first == nil || (part.buffer[0].Position < first.buffer[0].Position) == s.ascending) {
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
