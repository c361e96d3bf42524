package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// SQL is the log's own table. An event is found as soon as whoever emitted it has the answer.
type SQL struct{ DB *sqldb.DB }

// where is the part of a query that the plan and the caller's rights make.
func (s Search) where(p query.Plan) sqlbus.PageQuery {
	q := sqlbus.PageQuery{After: p.After, Before: p.Before, Ascending: s.Ascending}
	if !s.Readable.Everything {
		q.Where, q.Args = s.Readable.SQL, s.Readable.Args
	}
	return q
}

// counts tells that the indexes of the table alone know what matches.
func (s Search) counts(p query.Plan) bool { return p.Exact && !p.Shallow && !s.Everywhere }

// Candidates opens what a search reads. A database finds the newest event of one type at once, but not that of several: those
// are read side by side. So are the partitions when all workspaces are searched.
func (s SQL) Candidates(_ context.Context, search Search) (*Candidates, error) {
	p := search.Plan()
	known := Known{Readable: true, Matching: p.Exact && !p.Shallow}
	var reads []Read
	switch {
	case search.Everywhere:
		for partition := range bus.Partitions {
			reads = append(reads, s.partition(search, p, partition))
		}
	case len(p.Equal) > 0:
		path, values := rarest(p)
		for _, value := range values {
			reads = append(reads, s.equal(search, p, path, value))
		}
	default:
		for _, one := range apart(p) {
			reads = append(reads, s.rare(search, one, len(p.Types)))
		}
	}
	return NewCandidates(search, known, reads...), nil
}

// apart is a plan for each type.
func apart(p query.Plan) []query.Plan {
	if len(p.Types) == 0 {
		return []query.Plan{p}
	}
	parts := make([]query.Plan, 0, len(p.Types))
	for _, eventType := range p.Types {
		one := p
		one.Types = []string{eventType}
		parts = append(parts, one)
	}
	return parts
}

func (s SQL) workspace(search Search, p query.Plan) Read {
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
func (s SQL) equal(search Search, p query.Plan, path, value string) Read {
	return func(ctx context.Context, after, before bus.Position, limit int) ([]bus.Event, error) {
		q := search.where(p)
		q.After, q.Before, q.Limit = after, before, limit
		q.Args = slices.Clone(q.Args)
		bind := func(value any) string {
			q.Args = append(q.Args, value)
			return "$" + strconv.Itoa(sqlbus.FirstArg+len(q.Args)-1)
		}
		text := column(path) + ` = ` + bind(value)
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

// column is where the log has the text at a path that has an index.
func column(path string) string {
	if path == "source.userId" {
		return "user_id"
	}
	return "correlation_id"
}

// partition reads a partition with the events of all its workspaces.
func (s SQL) partition(search Search, p query.Plan, partition int) Read {
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
