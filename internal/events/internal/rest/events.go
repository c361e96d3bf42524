// Package rest holds the operations of the events service, one file a resource.
package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
	"atelier/internal/restapi"
)

// EmitEvents is the body of an emission.
type EmitEvents struct {
	Events []EmitEvent `json:"events" minItems:"1" maxItems:"100" nullable:"false" doc:"The events, stored in this order: all or none."`
}

// EmitEvent is one event to emit.
type EmitEvent struct {
	Type    string            `json:"type" minLength:"1" maxLength:"200" doc:"What happened. Types of the platform itself are refused."`
	Payload json.RawMessage   `json:"payload" doc:"What the event says; any JSON."`
	Target  *envelope.Target  `json:"target,omitempty" doc:"Whom the event is meant for; rules can refer to it."`
	Options *envelope.Options `json:"options,omitempty" doc:"How it is handled."`
}

type emitInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	Body        EmitEvents
}

type emitOutput struct{ Body []envelope.Event }

type listInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	Page        int    `query:"page" minimum:"0" maximum:"10000" doc:"Which page, counted from 0. Ignored when a cursor is given, which costs less on later pages."`
	Limit       int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many events at most."`
	Sort        string `query:"sort" enum:"asc,desc" default:"desc" doc:"Oldest or newest first."`
	Types       string `query:"types" maxLength:"4000" doc:"Only these types, as a comma list."`
	BeforeID    string `query:"beforeId" maxLength:"40" doc:"Only events older than this one."`
	AfterID     string `query:"afterId" maxLength:"40" doc:"Only events newer than this one."`
	Cursor      string `query:"cursor" maxLength:"2048" doc:"Continue where the previous answer ended: the cursor in its Link header."`
}

// EventList is a page of events.
type EventList struct {
	Result struct {
		Events []envelope.Event `json:"events" nullable:"false" doc:"The events."`
	} `json:"result" doc:"The page."`
}

type listOutput struct {
	Total string `header:"X-Total-Count" doc:"How many events match; absent beyond 10,000, and on pages reached by a cursor."`
	Link  string `header:"Link" doc:"The next page, as rel=\"next\"; absent on the last one."`
	Body  EventList
}

// RegisterEvents adds the operations on events.
func RegisterEvents(api *restapi.API, e *engine.Engine, cursors *restapi.Cursors) {
	const path = "/v2/workspaces/{workspaceId}/events"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "emitEvents", Method: http.MethodPost, Path: path, Tag: "Events", Policy: access.ByRules, Scope: access.EventsWrite,
		Summary: "Emit events", Description: "Stores events. They are durable, and readable by everyone who may, when the answer arrives.",
		Errors: denied, MaxBody: maxEmit,
	}, func(ctx context.Context, in *emitInput) (*emitOutput, error) {
		emitted := make([]envelope.Event, 0, len(in.Body.Events))
		for _, event := range in.Body.Events {
			emitted = append(emitted, envelope.Event{Type: event.Type, Payload: event.Payload, Target: event.Target, Options: event.Options})
		}
		stored, err := e.Emit(ctx, in.WorkspaceID, emitted)
		return &emitOutput{Body: stored}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "listEvents", Method: http.MethodGet, Path: path, Tag: "Events", Policy: access.ByRules, Scope: access.EventsRead,
		Summary: "List events", Description: "The events of a workspace that the caller may read, newest first unless asked otherwise.", Errors: denied,
	}, func(ctx context.Context, in *listInput) (*listOutput, error) { return list(ctx, e, cursors, in) })
}

// maxEmit is larger than other bodies: a batch of events is mostly payload.
const maxEmit = 4 << 20

func list(ctx context.Context, e *engine.Engine, cursors *restapi.Cursors, in *listInput) (*listOutput, error) {
	filters := url.Values{"sort": {in.Sort}, "limit": {strconv.Itoa(in.Limit)}}
	query := sqlbus.PageQuery{Limit: in.Limit + 1, Offset: in.Page * in.Limit, Ascending: in.Sort == "asc"}
	if in.Types != "" {
		query.Types = strings.Split(in.Types, ",")
		filters.Set("types", in.Types)
	}
	for _, bound := range []struct {
		name, id string
		into     *bus.Position
	}{{"beforeId", in.BeforeID, &query.Before}, {"afterId", in.AfterID, &query.After}} {
		if bound.id == "" {
			continue
		}
		position, err := bus.ParseID(bound.id)
		if err != nil {
			return nil, errs.Parameter(bound.name, "use the id of an event")
		}
		*bound.into = position
		filters.Set(bound.name, bound.id)
	}
	feed, err := e.Open(ctx, in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	out := &listOutput{}
	if in.Cursor == "" {
		total, err := feed.Count(ctx, query)
		if err != nil {
			return nil, err
		}
		if total < engine.MaxCount {
			out.Total = strconv.Itoa(total)
		}
	}
	scope := "events/" + in.WorkspaceID + "?" + filters.Encode()
	if err := resume(ctx, cursors, scope, in.Cursor, &query); err != nil {
		return nil, err
	}
	found, err := feed.Page(ctx, query)
	if err != nil {
		return nil, err
	}
	out.Body.Result.Events = found
	if len(found) <= in.Limit {
		return out, nil
	}
	out.Body.Result.Events = found[:in.Limit]
	cursor, err := cursors.Seal(ctx, scope, found[in.Limit-1].ID)
	if err != nil {
		return nil, err
	}
	filters.Set("cursor", cursor)
	out.Link = restapi.NextLink("/v2/workspaces/"+url.PathEscape(in.WorkspaceID)+"/events", filters)
	return out, nil
}

// resume narrows the query to what follows the place of the cursor.
func resume(ctx context.Context, cursors *restapi.Cursors, scope, cursor string, query *sqlbus.PageQuery) error {
	if cursor == "" {
		return nil
	}
	var last string
	if err := cursors.Open(ctx, scope, cursor, &last); err != nil {
		return err
	}
	position, err := bus.ParseID(last)
	if err != nil {
		return errs.Parameter("cursor", "use the cursor of a previous answer")
	}
	query.Offset = 0
	if query.Ascending {
		query.After = position
	} else {
		query.Before = position
	}
	return nil
}
