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

// Count implements Index.
func (s SQL) Count(ctx context.Context, search Search, most int) (count int, counted bool, err error) {
	p := search.Plan()
	switch {
	case !search.counts(p):
		return 0, false, nil
	case search.Readable.Everything:
		count, err = s.indexed(ctx, search.WorkspaceID, p, most)
		return count, true, err
	case most == 0:
		return 0, false, nil
	default:
		q := search.where(p)
		q.Types = p.Types
		count, err = sqlbus.Count(ctx, s.DB, search.WorkspaceID, q, most)
		return count, true, err
	}
}

// Beyond tells that more than so many events would have to be read to count them, where the indexes of the table alone know
// that.
func (s SQL) Beyond(ctx context.Context, search Search, most int) (bool, error) {
	p := search.Plan()
	switch {
	case search.Everywhere || !search.Readable.Everything:
		return false, nil
	case len(p.Equal) > 0:
		return s.beyondEqual(ctx, search.WorkspaceID, p, most)
	case !p.Exact || !p.Shallow:
		return false, nil
	}
	count, err := s.indexed(ctx, search.WorkspaceID, p, most+1)
	return count > most, err
}

// beyondEqual is Beyond for what is found by a text at a path that has an index. It has no index by type.
func (s SQL) beyondEqual(ctx context.Context, workspaceID string, p query.Plan, most int) (bool, error) {
	path, values := rarest(p)
	if len(p.Types) > 0 || len(values) != 1 {
		return false, nil
	}
	passing, err := s.transient(ctx, workspaceID, p)
	if err != nil {
		return false, err
	}
	most += len(passing)
	where, args := conditions(`workspace_id = $1`, workspaceID, p)
	args = append(args, values[0], most+1)
	var count int
	err = s.DB.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM bus_events `+where+` AND `+column(path)+` = $`+strconv.Itoa(len(args)-1)+
		` LIMIT $`+strconv.Itoa(len(args))+`) AS matching`, args...).Scan(&count)
	return count > most, errs.Wrap(err, "count the events of a workspace")
}

// indexed counts the events of a workspace that a plan holds, up to most unless that is zero. An index knows them all, but
// not which of them are transient: those are few, and looked up apart.
func (s SQL) indexed(ctx context.Context, workspaceID string, p query.Plan, most int) (int, error) {
	passing, err := s.transient(ctx, workspaceID, p)
	if err != nil {
		return 0, err
	}
	if most > 0 {
		most += len(passing)
	}
	count, err := s.all(ctx, workspaceID, p, most)
	return count - len(passing), err
}

// all counts events without asking whether they are transient, up to most unless that is zero.
func (s SQL) all(ctx context.Context, workspaceID string, p query.Plan, most int) (count int, err error) {
	where, args := conditions(`workspace_id = $1`, workspaceID, p)
	text := `SELECT COUNT(*) FROM bus_events ` + where
	if most > 0 {
		args = append(args, most)
		text = `SELECT COUNT(*) FROM (SELECT 1 FROM bus_events ` + where + ` LIMIT $` + strconv.Itoa(len(args)) + `) AS matching`
	}
	err = s.DB.QueryRow(ctx, text, args...).Scan(&count)
	return count, errs.Wrap(err, "count the events of a workspace")
}

// passing is a transient event.
type passing struct {
	at        bus.Position
	eventType string
}

// transient lists the transient events within a plan. They have an index of their own; the others would be read in vain, so
// the workspace is asked for in a way that they cannot serve.
func (s SQL) transient(ctx context.Context, workspaceID string, p query.Plan) ([]passing, error) {
	where, args := conditions(`transient = 1 AND workspace_id || '' = $1`, workspaceID, query.Plan{After: p.After, Before: p.Before})
	all, err := sqldb.All(ctx, s.DB, func(rows *sql.Rows) (e passing, err error) {
		err = rows.Scan(&e.at, &e.eventType)
		return e, err
	}, `SELECT pos, type FROM bus_events `+where, args...)
	if p.Types != nil {
		all = slices.DeleteFunc(all, func(e passing) bool { return !slices.Contains(p.Types, e.eventType) })
	}
	return all, errs.Wrap(err, "list the transient events of a workspace")
}

// conditions are those that an index of the workspace's events can decide.
func conditions(first, workspaceID string, p query.Plan) (string, []any) {
	args := []any{workspaceID}
	var b strings.Builder
	b.WriteString(`WHERE ` + first)
	bind := func(before string, value any, after string) {
		args = append(args, value)
		b.WriteString(before + "$" + strconv.Itoa(len(args)) + after)
	}
	if p.After > 0 {
		bind(` AND pos > `, int64(p.After), "")
	}
	if p.Before > 0 {
		bind(` AND pos < `, int64(p.Before), "")
	}
	for i, eventType := range p.Types {
		before, after := `, `, ""
		if i == 0 {
			before = ` AND type IN (`
		}
		if i == len(p.Types)-1 {
			after = `)`
		}
		bind(before, eventType, after)
	}
	return b.String(), args
}
