package sqlbus

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// PageQuery selects events of a workspace. The zero value of a field does not limit.
type PageQuery struct {
	// After and Before bound the positions; both are exclusive.
	After, Before bus.Position
	// Limit is how many events are returned at most; zero means 100.
	Limit int
	// Offset passes over that many events first. Positions are the better way to page: they cost the same on every page.
	Offset int
	// Ascending gives the oldest first instead of the newest.
	Ascending bool
	// Types keeps only events of these types.
	Types []string
	// Where, when set, is one more condition on bus_events; its parameters are Args, numbered from FirstArg.
	Where string
	Args  []any
}

// FirstArg is the number of the first parameter of PageQuery.Where.
const FirstArg = 2

const defaultLimit = 100

// Page reads events of a workspace, newest first unless asked otherwise.
func Page(ctx context.Context, r sqldb.Reader, workspaceID string, query PageQuery) ([]bus.Event, error) {
	text, args := pageSQL(workspaceID, query)
	events, err := sqldb.All(ctx, r, ScanEvent, text, args...)
	if err != nil {
		return nil, fmt.Errorf("read the events of a workspace: %w", err)
	}
	return events, nil
}

// Count tells how many events of a workspace the query matches, whatever its limit and offset. It stops at most, so that a
// long history costs no more than a short one.
func Count(ctx context.Context, r sqldb.Reader, workspaceID string, query PageQuery, most int) (int, error) {
	where, args := matching(workspaceID, query)
	args = append(args, most)
	var count int
	err := r.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM bus_events `+where+` LIMIT $`+strconv.Itoa(len(args))+`) AS matching`, args...).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count the events of a workspace: %w", err)
	}
	return count, nil
}

const selectEvents = `SELECT pos, workspace_id, type, body FROM bus_events `

// ScanEvent is the one place where a row becomes an event.
func ScanEvent(rows *sql.Rows) (e bus.Event, err error) {
	var body []byte
	err = rows.Scan(&e.Position, &e.WorkspaceID, &e.Type, &body)
	e.Body = body
	return e, err
}

// matching is the condition of a query.
func matching(workspaceID string, query PageQuery) (where string, args []any) {
	args = append([]any{workspaceID}, query.Args...)
	bind := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	var b strings.Builder
	b.WriteString(`WHERE workspace_id = $1 AND transient = 0`)
	if query.Where != "" {
		b.WriteString(` AND (` + query.Where + `)`)
	}
	if query.After > 0 {
		b.WriteString(` AND pos > ` + bind(int64(query.After)))
	}
	if query.Before > 0 {
		b.WriteString(` AND pos < ` + bind(int64(query.Before)))
	}
	if len(query.Types) > 0 {
		b.WriteString(` AND type IN (` + sqldb.In(len(args)+1, len(query.Types)) + `)`)
		for _, t := range query.Types {
			args = append(args, t)
		}
	}
	return b.String(), args
}

func pageSQL(workspaceID string, query PageQuery) (string, []any) {
	where, args := matching(workspaceID, query)
	order := ` ORDER BY pos DESC`
	if query.Ascending {
		order = ` ORDER BY pos`
	}
	limit := query.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	args = append(args, limit, query.Offset)
	return selectEvents + where + order + ` LIMIT $` + strconv.Itoa(len(args)-1) + ` OFFSET $` + strconv.Itoa(len(args)), args
}

// Get reads one event of a workspace; sqldb.IsNotFound tells that there is none.
func Get(ctx context.Context, r sqldb.Reader, workspaceID string, position bus.Position) (bus.Event, error) {
	events, err := sqldb.All(ctx, r, ScanEvent,
		selectEvents+`WHERE partition = $1 AND pos = $2 AND workspace_id = $3`,
		position.Partition(), int64(position), workspaceID)
	if err == nil && len(events) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return bus.Event{}, fmt.Errorf("read an event: %w", err)
	}
	return events[0], nil
}

// Following reads the next events of a partition after a position, oldest first.
func Following(ctx context.Context, r sqldb.Reader, partition int, after bus.Position, limit int) ([]bus.Event, error) {
	events, err := sqldb.All(ctx, r, ScanEvent,
		selectEvents+`WHERE partition = $1 AND pos > $2 ORDER BY pos LIMIT $3`, partition, int64(after), limit)
	if err != nil {
		return nil, fmt.Errorf("read the events of a partition: %w", err)
	}
	return events, nil
}
