// Package rest holds the operations of the events service, one file a resource.
package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/query"
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
	Hops        int    `header:"Webhook-Hops" minimum:"0" maximum:"1000" doc:"When a webhook made you emit: what its request said here. Webhooks that lead to each other end so."`
	Body        EmitEvents
}

type emitOutput struct{ Body []envelope.Event }

type listInput struct {
	LiveInput

	restapi.AnyQuery

	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	Page        int    `query:"page" minimum:"0" maximum:"10000" doc:"Which page, counted from 0, of the first 10,000 events. Ignored when a cursor is given, which leads to all of them and costs less."`
	Limit       int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many events at most."`
	Sort        string `query:"sort" enum:"asc,desc" default:"desc" doc:"Oldest or newest first."`
	Cursor      string `query:"cursor" maxLength:"2048" doc:"Continue where the previous answer ended: the cursor in its Link header."`

	Types            string `query:"types" maxLength:"4000" doc:"Only these types, as a comma list."`
	Text             string `query:"text" maxLength:"1000" doc:"Only events in which all of this occurs: words, \"several words in a row\", beginnings of words*, field:value; with - before it, what must not occur."`
	AfterDate        string `query:"afterDate" maxLength:"40" doc:"Only events after this time, a date or milliseconds since 1970."`
	BeforeDate       string `query:"beforeDate" maxLength:"40" doc:"Only events before this time, a date or milliseconds since 1970."`
	AfterID          string `query:"afterId" maxLength:"40" doc:"Only events newer than this one."`
	BeforeID         string `query:"beforeId" maxLength:"40" doc:"Only events older than this one."`
	AppInstanceDepth int    `query:"appInstanceDepth" minimum:"0" doc:"Only events of apps up to this depth, and of the workspace itself; 1 unless this or source.appInstanceDepth is given."`
}

// EventList is a page of events.
type EventList struct {
	Result struct {
		Events []envelope.Event `json:"events" nullable:"false" doc:"The events."`
	} `json:"result" doc:"The page."`
}

type listOutput struct {
	Total string `header:"X-Total-Count" doc:"How many events match; absent where counting would take long, and on pages reached by a cursor."`
	Link  string `header:"Link" doc:"The next page, as rel=\"next\"; absent on the last one."`
	Body  restapi.Body
}

// RegisterEvents adds the operations on events.
func RegisterEvents(api *restapi.API, e *engine.Engine, cursors *restapi.Cursors, live *Live) {
	const path = "/v2/workspaces/{workspaceId}/events"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "emitEvents", Method: http.MethodPost, Path: path, Tag: "Events", Policy: access.ByRules, Scope: access.EventsWrite,
		Summary: "Emit events", Description: "Stores events. They are durable, and readable by everyone who may, when the answer arrives.",
		Errors: denied, MaxBody: maxEmit,
	}, func(ctx context.Context, in *emitInput) (*emitOutput, error) {
		emitted := make([]envelope.Event, 0, len(in.Body.Events))
		for _, event := range in.Body.Events {
			emitted = append(emitted, envelope.Event{Type: event.Type, Payload: event.Payload, Target: event.Target, Options: event.Options, Source: envelope.Source{Hops: in.Hops}})
		}
		stored, err := e.Emit(ctx, in.WorkspaceID, emitted)
		return &emitOutput{Body: stored}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "listEvents", Method: http.MethodGet, Path: path, Tag: "Events", Policy: access.ByRules, Scope: access.EventsRead,
		Summary: "List events", Description: "The events of a workspace that the caller may read, newest first unless asked otherwise. " +
			"Every other parameter is a dotted path into the event, such as source.userId or payload.order.id: given several times, or as name[0], any of its values will do; " +
			"* is any text; an empty value in a list means that there is none.",
		Errors: append(denied, errs.GatewayTimeout), Repeated: true,
		Once: true, Gives: []restapi.Media{{Type: "application/json", Of: EventList{}}, {Type: "text/event-stream", Of: ""}},
	}, func(ctx context.Context, in *listInput) (*listOutput, error) {
		if in.live() {
			return &listOutput{Body: live.answer(in.WorkspaceID)}, nil
		}
		return list(ctx, e, cursors, in)
	})
}

// maxEmit is larger than other bodies: a batch of events is mostly payload.
const maxEmit = 4 << 20

func list(ctx context.Context, e *engine.Engine, cursors *restapi.Cursors, in *listInput) (*listOutput, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	asked := engine.Listing{Filter: filter, Limit: in.Limit + 1, Offset: in.Page * in.Limit, Ascending: in.Sort == "asc"}
	if in.Cursor == "" && asked.Offset+in.Limit > engine.MaxCount {
		return nil, errs.Parameter("page", "pages lead to the first 10,000 events; follow the Link header to read on, or ask for a time")
	}
	filters := in.filters()
	feed, err := e.Open(ctx, in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	scope := "events/" + in.WorkspaceID + "?" + filters.Encode()
	if err := resume(ctx, cursors, scope, in.Cursor, &asked); err != nil {
		return nil, err
	}
	found, err := feed.Page(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := &listOutput{}
	if in.Cursor == "" {
		if out.Total, err = total(ctx, feed, asked, len(found)); err != nil {
			return nil, err
		}
	}
	if len(found) <= in.Limit {
		return out, out.write(found)
	}
	if err := out.write(found[:in.Limit]); err != nil {
		return nil, err
	}
	cursor, err := cursors.Seal(ctx, scope, found[in.Limit-1].ID)
	if err != nil {
		return nil, err
	}
	filters.Set("cursor", cursor)
	out.Link = restapi.NextLink("/v2/workspaces/"+url.PathEscape(in.WorkspaceID)+"/events", filters)
	return out, nil
}

// total is how many events match, when a page found so many; empty when that would take long to find out. The last page knows it.
func total(ctx context.Context, feed *engine.Feed, asked engine.Listing, found int) (string, error) {
	if found < asked.Limit && (found > 0 || asked.Offset == 0) {
		return strconv.Itoa(asked.Offset + found), nil
	}
	count, counted, err := feed.Count(ctx, asked)
	if err != nil || !counted || count >= engine.MaxCount {
		return "", err
	}
	return strconv.Itoa(count), nil
}

// write makes the body of an answer with these events.
func (o *listOutput) write(found []envelope.Event) error {
	var list EventList
	list.Result.Events = found
	stream, err := restapi.Answer(http.StatusOK, list)
	if err == nil {
		o.Body = stream.Body
	}
	return err
}

// resume narrows what is asked to what follows the place of the cursor.
func resume(ctx context.Context, cursors *restapi.Cursors, scope, cursor string, asked *engine.Listing) error {
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
	asked.Offset = 0
	if asked.Ascending {
		asked.After = position
	} else {
		asked.Before = position
	}
	return nil
}

// paging are the parameters that say which part of a list is asked for, and how. All others say of what.
func paging() []string { return []string{"page", "limit", "sort", "cursor", "sse", "lastEventId"} }

// filter is what is asked of the events.
func (in *listInput) filter() (query.Filter, error) {
	return query.FromParameters(in.Query(), paging()...)
}

// filters are the parameters that lead to other pages of the same list.
func (in *listInput) filters() url.Values {
	filters := maps.Clone(in.Query())
	for _, name := range paging() {
		filters.Del(name)
	}
	filters.Set("sort", in.Sort)
	filters.Set("limit", strconv.Itoa(in.Limit))
	return filters
}
