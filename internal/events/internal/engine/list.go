package engine

import (
	"context"
	"errors"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/store"
)

// Feed is the events of a workspace that a caller may read.
type Feed struct {
	engine      *Engine
	workspaceID string
	readable    access.Filter
	// may and outline are the same rights for indexes that know no SQL; nil when everything may be read.
	may     func(d *query.Document) bool
	outline query.Filter
	// everywhere is all workspaces, or those that fit.
	everywhere bool
	fitting    func(workspaceID string) bool
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
	feed := &Feed{engine: e, workspaceID: v.workspaceID, readable: readable}
	if !readable.Everything {
		feed.may = func(d *query.Document) bool {
			return v.ability.Decide(access.ActionRead, access.SubjectEvents, placed{d, v.workspaceID}).Allowed
		}
		if alternatives, ok := v.ability.Outline(access.ActionRead, access.SubjectEvents, map[string]string{"source.workspaceId": v.workspaceID}); ok {
			feed.outline = query.OneOf(alternatives)
		}
	}
	return feed, nil
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

// Listing is a page of events that is asked for.
type Listing struct {
	Filter query.Filter
	// After and Before bound the positions; both are exclusive, and zero does not limit.
	After, Before bus.Position
	Offset, Limit int
	// Ascending gives the oldest first.
	Ascending bool
}

// Page reads events. An event is there as soon as its emitter has the answer.
func (f *Feed) Page(ctx context.Context, asked Listing) ([]envelope.Event, error) {
	ctx, done := f.engine.limited(ctx)
	defer done()
	found, err := f.engine.store().Page(ctx, f.search(asked), asked.Offset, asked.Limit)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	events := make([]envelope.Event, 0, len(found))
	for _, d := range found {
		event, err := d.Event()
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// Count tells how many events match, up to MaxCount. False means that it would take too long to find out.
func (f *Feed) Count(ctx context.Context, asked Listing) (int, bool, error) {
	ctx, done := f.engine.limited(ctx)
	defer done()
	count, counted, err := f.engine.store().Count(ctx, f.search(asked), MaxCount, countPatience)
	return count, counted, inTime(ctx, err)
}

// search is what the caller may read of what is asked for: before pages are cut and events are counted.
func (f *Feed) search(asked Listing) store.Search {
	return store.Search{
		WorkspaceID: f.workspaceID, Everywhere: f.everywhere, Fitting: f.fitting, Readable: f.readable, May: f.may, Outline: f.outline,
		Filter: asked.Filter, After: asked.After, Before: asked.Before, Ascending: asked.Ascending,
	}
}

const (
	// MaxCount is where counting stops: more than that is not a list that anybody pages through.
	MaxCount = 10_000
	// countPatience is how many events are looked at to count those that match, where the database cannot count them.
	countPatience = 500
)

func (e *Engine) store() *store.Store { return &store.Store{DB: e.DB, Index: e.Index} }

// limited bounds how long a search may take.
func (e *Engine) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.SearchTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, e.SearchTimeout, errTooLong)
}

var errTooLong = errors.New("the search took too long")

// inTime tells whose fault it is that a search did not end: a search that took too long is the asker's.
func inTime(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return errs.New(errs.GatewayTimeout, "The search took too long; ask for certain types, or for a shorter time.").Because(err)
	}
	return err
}
