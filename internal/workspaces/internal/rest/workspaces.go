// Package rest holds the operations of the workspaces service, one file a resource.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
)

// Workspace is a workspace as lists show it.
type Workspace struct {
	ID          string           `json:"id" doc:"The workspace's id."`
	Slug        string           `json:"slug" doc:"The technical name, unique in the installation."`
	Name        string           `json:"name" doc:"The name people see."`
	Description any              `json:"description" doc:"What it is for: a text, or texts by language."`
	Photo       string           `json:"photo,omitempty" doc:"The address of its picture."`
	Labels      []string         `json:"labels" nullable:"false" doc:"Labels, for groups and filters."`
	Dirty       bool             `json:"dirty" doc:"Whether the content has changed since the last push to a Git repository."`
	LastPush    *workspaces.Sync `json:"lastPush,omitempty" doc:"The last successful push."`
	LastPull    *workspaces.Sync `json:"lastPull,omitempty" doc:"The last successful pull."`
	WriteLock   *WriteLock       `json:"writeLock,omitempty" doc:"The lock that keeps others from changing the workspace; absent when there is none."`
	Suspended   *Suspension      `json:"suspended,omitempty" doc:"Since when nothing runs in it, and why; absent when it runs."`
	CreatedAt   time.Time        `json:"createdAt" doc:"When it was made."`
	CreatedBy   string           `json:"createdBy" doc:"Who made it."`
	UpdatedAt   time.Time        `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy   string           `json:"updatedBy" doc:"Who changed it last."`
}

// Suspension tells why nothing runs in a workspace.
type Suspension struct {
	Since  time.Time `json:"since" doc:"Since when."`
	Reason string    `json:"reason,omitempty" doc:"Why."`
}

func view(w workspaces.Workspace, now time.Time) Workspace {
	shown := Workspace{
		ID: w.ID, Slug: w.Slug, Name: w.Name, Description: definitions.Description(w), Photo: w.Photo, Labels: w.Labels, Dirty: w.Dirty(),
		LastPush: w.LastPush, LastPull: w.LastPull,
		CreatedAt: w.CreatedAt, CreatedBy: w.CreatedBy, UpdatedAt: w.UpdatedAt, UpdatedBy: w.UpdatedBy,
	}
	if w.Lock.Held(now) {
		shown.WriteLock = lockView(w.Lock)
	}
	if !w.SuspendedAt.IsZero() {
		shown.Suspended = &Suspension{Since: w.SuspendedAt, Reason: w.SuspendedReason}
	}
	return shown
}

// WorkspaceDetail is a workspace with its definition: what its index says, and what its documents are.
type WorkspaceDetail struct {
	Workspace

	Config            json.RawMessage               `json:"config,omitempty" doc:"Its configuration."`
	Blocks            json.RawMessage               `json:"blocks,omitempty" doc:"Its own blocks, by slug."`
	RegisterWorkspace json.RawMessage               `json:"registerWorkspace,omitempty" doc:"Whether other workspaces can look it up by its slug."`
	Secrets           json.RawMessage               `json:"secrets,omitempty" doc:"The schema of the secrets that it expects."`
	Events            json.RawMessage               `json:"events,omitempty" doc:"The types of its events."`
	Repositories      json.RawMessage               `json:"repositories,omitempty" doc:"What it is pushed to and pulled from, by id."`
	Platform          map[string]PlatformRepository `json:"platformRepositories,omitempty" doc:"The repositories that the operator has configured for all workspaces, by id."`
	Automations       map[string]definitions.Meta   `json:"automations" doc:"Its automations by slug, without what they do."`
	Pages             map[string]definitions.Meta   `json:"pages" doc:"Its pages by slug, without what they show."`
	Imports           map[string]definitions.Meta   `json:"imports" doc:"Its app instances by slug."`
}

// detailed shows a workspace with its definition.
func detailed(ctx context.Context, d *definitions.Definitions, w workspaces.Workspace, version string) (*documentOutput, error) {
	index, metas, err := d.Overview(ctx, w, version)
	if err != nil {
		return nil, err
	}
	detail := WorkspaceDetail{
		Workspace: view(w, d.Clock.Now()), Automations: metas[dsul.Automation], Pages: metas[dsul.Page], Imports: metas[dsul.Import],
		Platform: platformRepositories(d.Platform, w),
	}
	for key, into := range map[string]*json.RawMessage{
		"config": &detail.Config, "blocks": &detail.Blocks, "registerWorkspace": &detail.RegisterWorkspace, "secrets": &detail.Secrets, "events": &detail.Events,
		"repositories": &detail.Repositories,
	} {
		if n := index.Get(key); n != nil {
			*into = dsul.JSON(n)
		}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(detail); err != nil {
		return nil, err
	}
	return &documentOutput{Status: http.StatusOK, ETag: restapi.ETag(w.Revision), ContentType: mediaJSON, Body: body.Bytes()}, nil
}

// InWorkspace names the workspace of an operation; inputs embed it.
type InWorkspace struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
}

type listInput struct {
	restapi.Page
	Search string `query:"search" maxLength:"200" doc:"Text in the name, the description or the slug."`
	Name   string `query:"name" maxLength:"200" doc:"Text in the name."`
	Slug   string `query:"slug" maxLength:"64" doc:"Exactly this slug."`
	Labels string `query:"labels" maxLength:"2000" doc:"A comma list of labels: workspaces with any of them."`
	IDs    string `query:"ids" maxLength:"4000" doc:"A comma list of ids."`
	Email  string `query:"email" maxLength:"320" doc:"Only workspaces that are shared with the account that has this address."`
	Owned  string `query:"owned" enum:"true,false" doc:"true for the workspaces that the caller owns."`
	Dirty  string `query:"dirty" enum:"true,false" doc:"Only workspaces that are, or are not, dirty."`
	Sort   string `query:"sort" enum:"name,-name,slug,-slug,createdAt,-createdAt,updatedAt,-updatedAt" default:"-createdAt" doc:"The order; a dash reverses it."`
}

type listOutput struct {
	restapi.Listed
	Body []Workspace
}

type labelsInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"2000" default:"100" doc:"How many at most."`
}

type labelsOutput struct{ Body []string }

type getInput struct {
	InWorkspace

	Version string `query:"version" maxLength:"15" doc:"A native version; what it is now when absent."`
	Accept  string `header:"Accept" maxLength:"1000" doc:"application/yaml asks for the index, byte for byte as it was written."`
}

type createInput struct{ RawBody []byte }

type updateInput struct {
	InWorkspace

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	RawBody []byte
}

type deletedOutput struct {
	Body struct {
		ID string `json:"id" doc:"The id of what was deleted."`
	}
}

// RegisterWorkspaces adds the operations on workspaces.
func RegisterWorkspaces(api *restapi.API, e *engine.Engine, cursors *restapi.Cursors) {
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	detail := []restapi.Media{{Type: mediaJSON, Of: WorkspaceDetail{}}}
	definition := []restapi.Media{{Type: mediaJSON, Of: WorkspaceDefinition{}}}
	restapi.Register(api, restapi.Operation{
		ID: "listWorkspaces", Method: http.MethodGet, Path: "/v2/workspaces", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List workspaces", Description: "The workspaces that the caller may read.",
	}, func(ctx context.Context, in *listInput) (*listOutput, error) { return list(ctx, e, cursors, in) })
	restapi.Register(api, restapi.Operation{
		ID: "listLabels", Method: http.MethodGet, Path: "/v2/workspaces/labels", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List labels", Description: "Those of the workspaces that the caller may read, in alphabetical order.",
	}, func(ctx context.Context, in *labelsInput) (*labelsOutput, error) {
		labels, err := e.Labels(ctx, in.Limit)
		return &labelsOutput{Body: orEmpty(labels)}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "createWorkspace", Method: http.MethodPost, Path: "/v2/workspaces", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Create a workspace", Status: http.StatusCreated, Errors: []errs.Code{errs.AlreadyExists}, Takes: definition, Gives: detail,
	}, func(ctx context.Context, in *createInput) (*documentOutput, error) { return create(ctx, e, in) })
	restapi.Register(api, restapi.Operation{
		ID: "getWorkspace", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Read a workspace", Errors: denied, Gives: append(slices.Clone(detail), restapi.Media{Type: mediaYAML, Of: ""}),
	}, func(ctx context.Context, in *getInput) (*documentOutput, error) { return get(ctx, e, in) })
	restapi.Register(api, restapi.Operation{
		ID: "updateWorkspace", Method: http.MethodPatch, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Change a workspace", Description: "Replaces the keys that the body has and removes those that are null.",
		Errors: append(slices.Clone(denied), errs.AlreadyExists, errs.Locked), Takes: definition, Gives: detail,
	}, func(ctx context.Context, in *updateInput) (*documentOutput, error) {
		if err := checkJSON(in.RawBody); err != nil {
			return nil, err
		}
		said, err := shownOf(ctx, e, in.WorkspaceID, in.RawBody)
		if err != nil {
			return nil, err
		}
		w, err := e.Definitions.Update(ctx, in.WorkspaceID, in.IfMatch, in.RawBody, said)
		if err != nil {
			return nil, err
		}
		return detailed(ctx, e.Definitions, w, definitions.Current)
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteWorkspace", Method: http.MethodDelete, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Delete a workspace", Description: "Puts it into the bin, from which it can be restored for a while.", Errors: append(slices.Clone(denied), errs.Locked),
	}, func(ctx context.Context, in *InWorkspace) (*deletedOutput, error) {
		out := &deletedOutput{}
		var err error
		out.Body.ID, err = e.Delete(ctx, in.WorkspaceID)
		return out, err
	})
}

// settable are the keys of a workspace that callers may set.
func settable() []string {
	return []string{"name", "slug", "description", "photo", "labels", "config", "blocks", "registerWorkspace", "secrets", "events", "repositories"}
}

// shownOf is what a caller reads of a workspace, by key; nil when the body has nothing but what a caller may set.
func shownOf(ctx context.Context, e *engine.Engine, ref string, body []byte) (said map[string]json.RawMessage, err error) {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	for _, key := range settable() {
		delete(sent, key)
	}
	if len(sent) == 0 {
		return nil, nil //nolint:nilnil // nothing to compare
	}
	w, err := e.Get(ctx, ref)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // the change itself is refused with the right words
	}
	out, err := detailed(ctx, e.Definitions, w, definitions.Current)
	if err != nil {
		return nil, err
	}
	return said, json.Unmarshal(out.Body, &said)
}

func create(ctx context.Context, e *engine.Engine, in *createInput) (*documentOutput, error) {
	if err := checkJSON(in.RawBody); err != nil {
		return nil, err
	}
	w, err := e.Create(ctx, in.RawBody)
	if err != nil {
		return nil, err
	}
	out, err := detailed(ctx, e.Definitions, w, definitions.Current)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusCreated, "/v2/workspaces/"+w.ID
	return out, nil
}

func get(ctx context.Context, e *engine.Engine, in *getInput) (*documentOutput, error) {
	if wantsYAML(in.Accept) && in.Version == "" {
		index, err := e.Definitions.Read(ctx, in.WorkspaceID, dsul.Index, "")
		out, err := shown(index, err, in.Accept)
		if err != nil {
			return nil, err
		}
		out.ETag = restapi.ETag(index.Workspace.Revision) // that of the workspace, in whatever form it is read
		return out, nil
	}
	w, err := e.Get(ctx, in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	version := in.Version
	if version == "" {
		version = definitions.Current
	}
	return detailed(ctx, e.Definitions, w, version)
}

func list(ctx context.Context, e *engine.Engine, cursors *restapi.Cursors, in *listInput) (*listOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{
		"search": in.Search, "name": in.Name, "slug": in.Slug, "labels": in.Labels, "ids": in.IDs, "email": in.Email, "owned": in.Owned, "dirty": in.Dirty,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	const path = "/v2/workspaces"
	offset, err := in.From(ctx, cursors, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	q := workspaces.ListQuery{
		Search: in.Search, Name: in.Name, Slug: in.Slug, Labels: commaList(in.Labels), IDs: commaList(in.IDs),
		Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"), Limit: in.Limit, Offset: offset,
	}
	if in.Dirty != "" {
		dirty := in.Dirty == "true"
		q.Dirty = &dirty
	}
	items, total, err := e.ListFor(ctx, q, in.Email, in.Owned == "true")
	if err != nil {
		return nil, err
	}
	out := &listOutput{Body: make([]Workspace, 0, len(items))}
	for _, w := range items {
		out.Body = append(out.Body, view(w, e.Clock.Now()))
	}
	out.Listed, err = restapi.NewListed(ctx, cursors, restapi.Place{Path: path, Query: query, Next: offset + len(items), Total: total})
	return out, err
}

// commaList splits a list, without what is empty in it.
func commaList(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
