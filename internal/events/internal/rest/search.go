package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/query"
	"atelier/internal/restapi"
)

// SearchEvents is what is searched for.
type SearchEvents struct {
	Scope           string            `json:"scope,omitempty" enum:"events" doc:"What is searched."`
	Query           json.RawMessage   `json:"query" doc:"What is asked of the events: one of bool, exists, ids, match, match_all, prefix, range, term, terms and wildcard, as search engines write them. Fields are dotted paths into the event."`
	Aggs            json.RawMessage   `json:"aggs,omitempty" doc:"Figures about all events that match, by their names: avg, cardinality, date_histogram, filters, histogram, max, min, percentiles, stats, sum and terms; those with buckets may have aggs themselves, five deep. Needs the action aggregate_search on the workspace."`
	RuntimeMappings json.RawMessage   `json:"runtime_mappings,omitempty" doc:"Not supported."`
	Source          []string          `json:"source,omitempty" maxItems:"100" nullable:"false" doc:"Give only these fields of the events."`
	Sort            []json.RawMessage `json:"sort,omitempty" maxItems:"3" nullable:"false" doc:"How the events are sorted, such as {\"createdAt\": \"desc\"}: by createdAt, id or numbers of the event. The newest come first otherwise."`
	Limit           *int              `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"How many events at most; 100 unless given. With 0 only the figures are given."`
	Page            int               `json:"page,omitempty" minimum:"0" maximum:"10000" doc:"Which page, counted from 0, of the first 10,000 events."`
	TrackTotalHits  bool              `json:"track_total_hits,omitempty" doc:"Whether size counts beyond 10,000."`
}

// SearchResult is what was found.
type SearchResult struct {
	Size      int               `json:"size" doc:"How many events match that the caller may read; 10,000 means that many or more, unless track_total_hits."`
	Documents []json.RawMessage `json:"documents" nullable:"false" doc:"The events of the page."`
	Aggs      map[string]any    `json:"aggs,omitempty" doc:"The figures, over all events that match and that the caller may read."`
}

type searchInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug. A * in it is any text: such a search is for super admins."`
	Body        SearchEvents
}

type searchAllInput struct{ Body SearchEvents }

type searchOutput struct{ Body SearchResult }

// RegisterSearch adds the searches.
func RegisterSearch(api *restapi.API, e *engine.Engine) {
	const described = "Finds events with a part of the language of search engines, and counts them. Size and figures are of the events " +
		"that the caller may read, like the events themselves. What is not part of the language is refused with the place where it stands."
	restapi.Register(api, restapi.Operation{
		ID: "searchEvents", Method: http.MethodPost, Path: "/v2/workspaces/{workspaceId}/search", Tag: "Events", Policy: access.ByRules, Scope: access.EventsRead,
		Summary: "Search events", Description: described, Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.PermissionDenied, errs.GatewayTimeout},
		Once: true,
	}, func(ctx context.Context, in *searchInput) (*searchOutput, error) {
		return search(ctx, e, in.WorkspaceID, in.Body)
	})
	restapi.Register(api, restapi.Operation{
		ID: "searchAllEvents", Method: http.MethodPost, Path: "/v2/search", Tag: "Events", Policy: access.SuperAdmins, Scope: access.Account,
		Summary: "Search the events of all workspaces", Description: described, Errors: []errs.Code{errs.GatewayTimeout}, Once: true,
	}, func(ctx context.Context, in *searchAllInput) (*searchOutput, error) {
		return search(ctx, e, engine.Everywhere, in.Body)
	})
}

func search(ctx context.Context, e *engine.Engine, workspaceID string, body SearchEvents) (*searchOutput, error) {
	asked, err := body.asked()
	if err != nil {
		return nil, err
	}
	fields, err := query.ParseFields(body.Source, "source")
	if err != nil {
		return nil, err
	}
	found, err := e.Search(ctx, workspaceID, asked)
	if err != nil {
		return nil, err
	}
	out := &searchOutput{Body: SearchResult{Size: found.Size, Documents: make([]json.RawMessage, 0, len(found.Documents))}}
	for _, d := range found.Documents {
		text, err := shown(d, fields)
		if err != nil {
			return nil, err
		}
		out.Body.Documents = append(out.Body.Documents, text)
	}
	if len(asked.Aggregations) > 0 {
		out.Body.Aggs = found.Figures
	}
	return out, nil
}

// shown is an event, or the fields of it that are asked for.
func shown(d *query.Document, fields []string) (json.RawMessage, error) {
	if len(fields) > 0 {
		picked, err := d.Pick(fields)
		if err != nil {
			return nil, err
		}
		return json.Marshal(picked)
	}
	event, err := d.Event()
	if err != nil {
		return nil, err
	}
	return json.Marshal(event)
}

const defaultSearch = 100

// asked reads the search.
func (b SearchEvents) asked() (asked engine.Asked, err error) {
	if len(b.RuntimeMappings) > 0 {
		return asked, errs.Invalid(errs.Field{Field: "runtime_mappings", Message: "fields that are computed are not supported; remove it"})
	}
	asked = engine.Asked{Page: b.Page, Limit: defaultSearch, Total: b.TrackTotalHits}
	if b.Limit != nil {
		asked.Limit = *b.Limit
	}
	if (asked.Page+1)*asked.Limit > engine.MaxCount {
		return asked, errs.Invalid(errs.Field{Field: "page", Message: "pages lead to the first 10,000 events; narrow the query, for instance to times before the last one you got"})
	}
	if asked.Filter, err = query.ParseQuery(b.Query, "query"); err != nil {
		return asked, err
	}
	if len(b.Aggs) > 0 {
		if asked.Aggregations, err = query.ParseAggregations(b.Aggs, "aggs"); err != nil {
			return asked, err
		}
	}
	asked.Order, err = query.ParseOrder(b.Sort, "sort")
	return asked, err
}
