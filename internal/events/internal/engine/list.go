package engine

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/envelope"
)

// Feed is the events of a workspace that a caller may read.
type Feed struct {
	engine      *Engine
	workspaceID string
	readable    access.Filter
}

// Open gives the events of a workspace that the caller may read. Somebody who may read none is refused.
func (e *Engine) Open(ctx context.Context, ref string) (*Feed, error) {
	v, err := e.visit(ctx, ref)
	if err != nil {
		return nil, err
	}
	readable, err := v.ability.Filter(access.ActionRead, access.SubjectEvents, columns(access.Dialect(e.DB.Driver()), v.workspaceID))
	if err != nil {
		return nil, err
	}
	if readable.Nothing || readable.Everything { // with everything comes the question whether there is such a workspace
		if err := v.ability.Check(access.ActionRead, access.SubjectEvents, nil); err != nil {
			return nil, v.asNamed(err)
		}
	}
	return &Feed{engine: e, workspaceID: v.workspaceID, readable: readable}, nil
}

// columns maps what rules say of events to the log's table. That they are of the workspace is known: the query asks for it.
func columns(dialect access.Dialect, workspaceID string) access.List {
	inBody := func(key string) access.Column {
		if dialect == access.PostgreSQL {
			return access.Column{SQL: `(body::json -> '` + key + `')::text`, Kind: access.JSON}
		}
		return access.Column{SQL: `(body -> '$.` + key + `')`, Kind: access.JSON}
	}
	return access.List{
		Dialect: dialect, First: sqlbus.FirstArg, Known: map[string]string{"source.workspaceId": workspaceID},
		Columns: map[string]access.Column{
			"type": {SQL: "type", Kind: access.Text}, "source": inBody("source"), "target": inBody("target"), "payload": inBody("payload"),
		},
	}
}

// Page reads events. An event is there as soon as its emitter has the answer.
func (f *Feed) Page(ctx context.Context, query sqlbus.PageQuery) ([]envelope.Event, error) {
	stored, err := sqlbus.Page(ctx, f.engine.DB, f.workspaceID, f.only(query))
	if err != nil {
		return nil, err
	}
	return read(stored)
}

// Count tells how many events match, up to MaxCount.
func (f *Feed) Count(ctx context.Context, query sqlbus.PageQuery) (int, error) {
	return sqlbus.Count(ctx, f.engine.DB, f.workspaceID, f.only(query), MaxCount)
}

// only narrows a query to what the caller may read, before pages are cut and events are counted.
func (f *Feed) only(query sqlbus.PageQuery) sqlbus.PageQuery {
	if !f.readable.Everything {
		query.Where, query.Args = f.readable.SQL, f.readable.Args
	}
	return query
}

// MaxCount is where counting stops: more than that is not a list that anybody pages through.
const MaxCount = 10_000
