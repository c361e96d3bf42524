package engine

import (
	"context"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/store"
)

// Everywhere is the workspace that stands for all of them in searches.
const Everywhere = "*"

// Asked is a search.
type Asked struct {
	Filter       query.Filter
	Aggregations query.Aggregations
	Order        query.Order
	Page, Limit  int
	// Total counts all events that match, however many there are.
	Total bool
}

// Search finds events, and figures about all that match. What the caller may not read is in none of them. A workspace with *
// in its name means all that fit, and is for super admins.
func (e *Engine) Search(ctx context.Context, ref string, asked Asked) (store.Found, error) {
	feed, err := e.feedOf(ctx, ref, len(asked.Aggregations) > 0)
	if err != nil {
		return store.Found{}, err
	}
	ctx, done := e.limited(ctx)
	defer done()
	want := store.Want{
		Offset: asked.Page * asked.Limit, Limit: asked.Limit, Order: asked.Order, Aggregations: asked.Aggregations, Most: MaxCount,
	}
	if asked.Total {
		want.Most = 0
	}
	found, err := e.store().Find(ctx, feed.search(Listing{Filter: asked.Filter}), want)
	return found, inTime(ctx, err)
}

// feedOf gives the events that a search may find. Aggregations need a right of their own.
func (e *Engine) feedOf(ctx context.Context, ref string, aggregates bool) (*Feed, error) {
	if strings.Contains(ref, "*") {
		return e.allOf(ctx, ref)
	}
	feed, err := e.Open(ctx, ref)
	if err != nil || !aggregates {
		return feed, err
	}
	v, err := e.visit(ctx, ref)
	if err != nil {
		return nil, err
	}
	return feed, v.asNamed(v.ability.Check(access.ActionAggregateSearch, access.SubjectWorkspaces, nil))
}

// allOf gives the events of all workspaces whose id fits a pattern.
func (e *Engine) allOf(ctx context.Context, ref string) (*Feed, error) {
	switch caller := access.From(ctx); {
	case caller.SuperAdmin: // the platform is not for tokens that were made for less
		if err := access.CheckScope(access.Account, caller); err != nil {
			return nil, err
		}
	case caller.Kind == access.Nobody:
		return nil, access.MissingToken()
	default:
		return nil, errs.New(errs.PermissionDenied, "Only super admins search in several workspaces; name one.")
	}
	feed := &Feed{engine: e, everywhere: true, readable: access.Filter{Everything: true}}
	if ref != Everywhere {
		feed.fitting = query.Starred(ref)
	}
	return feed, nil
}
