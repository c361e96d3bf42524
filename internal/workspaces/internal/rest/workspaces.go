// Package rest holds the operations of the workspaces service, one file a resource.
package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/engine"
)

// Workspace is a workspace as clients see it.
type Workspace struct {
	ID          string    `json:"id" doc:"The workspace's id."`
	Slug        string    `json:"slug" doc:"The technical name, unique in the installation."`
	Name        string    `json:"name" doc:"The name people see."`
	Description string    `json:"description" doc:"What it is for."`
	Labels      []string  `json:"labels" nullable:"false" doc:"Labels, for groups and filters."`
	Dirty       bool      `json:"dirty" doc:"Whether the content has changed since the last push to a Git repository."`
	CreatedAt   time.Time `json:"createdAt" doc:"When it was made."`
	CreatedBy   string    `json:"createdBy" doc:"Who made it."`
	UpdatedAt   time.Time `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy   string    `json:"updatedBy" doc:"Who changed it last."`
}

func view(w workspaces.Workspace) Workspace {
	return Workspace{
		ID: w.ID, Slug: w.Slug, Name: w.Name, Description: w.Description, Labels: w.Labels, Dirty: w.Dirty(),
		CreatedAt: w.CreatedAt, CreatedBy: w.CreatedBy, UpdatedAt: w.UpdatedAt, UpdatedBy: w.UpdatedBy,
	}
}

// CreateWorkspace is the body of a creation.
type CreateWorkspace struct {
	Name        string    `json:"name" minLength:"1" maxLength:"60" pattern:"^[0-9A-Za-zÀ-ÖØ-öø-ÿ ,.'-]+$" patternDescription:"letters, digits, spaces and , . ' -" doc:"The name people see."`
	Slug        *string   `json:"slug,omitempty" maxLength:"64" doc:"The technical name; made from the name when absent."`
	Description *string   `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
	Labels      *[]string `json:"labels,omitempty" maxItems:"100" doc:"Labels."`
}

// UpdateWorkspace is the body of a change; absent fields stay as they are.
type UpdateWorkspace struct {
	Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"60" pattern:"^[0-9A-Za-zÀ-ÖØ-öø-ÿ ,.'-]+$" patternDescription:"letters, digits, spaces and , . ' -" doc:"The name people see."`
	Slug        *string   `json:"slug,omitempty" maxLength:"64" doc:"The technical name."`
	Description *string   `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
	Labels      *[]string `json:"labels,omitempty" maxItems:"100" doc:"Labels."`
}

type one struct {
	ETag     string `header:"ETag" doc:"The revision; send it as If-Match with a change."`
	Location string `header:"Location"`
	Body     Workspace
}

func answer(w workspaces.Workspace, err error) (*one, error) {
	if err != nil {
		return nil, err
	}
	return &one{ETag: restapi.ETag(w.Revision), Body: view(w)}, nil
}

// InWorkspace names the workspace of an operation; inputs embed it.
type InWorkspace struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
}

type listInput struct {
	restapi.Page
	Search string `query:"search" maxLength:"200" doc:"Text in the name, the description or the slug."`
	Slug   string `query:"slug" maxLength:"64" doc:"Exactly this slug."`
	Dirty  string `query:"dirty" enum:"true,false" doc:"Only workspaces that are, or are not, dirty."`
	Sort   string `query:"sort" enum:"name,-name,slug,-slug,createdAt,-createdAt,updatedAt,-updatedAt" default:"-createdAt" doc:"The order; a dash reverses it."`
}

type listOutput struct {
	restapi.Listed
	Body []Workspace
}

type createInput struct{ Body CreateWorkspace }

type updateInput struct {
	InWorkspace

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	Body    UpdateWorkspace
}

type deletedOutput struct {
	Body struct {
		ID string `json:"id" doc:"The id of what was deleted."`
	}
}

// RegisterWorkspaces adds the operations on workspaces.
func RegisterWorkspaces(api *restapi.API, e *engine.Engine, cursors *restapi.Cursors) {
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "listWorkspaces", Method: http.MethodGet, Path: "/v2/workspaces", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List workspaces", Description: "The workspaces that the caller may read.",
	}, func(ctx context.Context, in *listInput) (*listOutput, error) { return list(ctx, e, cursors, in) })
	restapi.Register(api, restapi.Operation{
		ID: "createWorkspace", Method: http.MethodPost, Path: "/v2/workspaces", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Create a workspace", Status: http.StatusCreated, Errors: []errs.Code{errs.AlreadyExists},
	}, func(ctx context.Context, in *createInput) (*one, error) {
		w, err := e.Create(ctx, workspaces.Draft{
			Name: &in.Body.Name, Slug: in.Body.Slug, Description: in.Body.Description, Labels: in.Body.Labels,
		})
		out, err := answer(w, err)
		if out != nil {
			out.Location = "/v2/workspaces/" + w.ID
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "getWorkspace", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Read a workspace", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*one, error) { return answer(e.Get(ctx, in.WorkspaceID)) })
	restapi.Register(api, restapi.Operation{
		ID: "updateWorkspace", Method: http.MethodPatch, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Change a workspace", Errors: append(denied, errs.AlreadyExists),
	}, func(ctx context.Context, in *updateInput) (*one, error) {
		return answer(e.Update(ctx, in.WorkspaceID, in.IfMatch, workspaces.Draft{
			Name: in.Body.Name, Slug: in.Body.Slug, Description: in.Body.Description, Labels: in.Body.Labels,
		}))
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteWorkspace", Method: http.MethodDelete, Path: "/v2/workspaces/{workspaceId}", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Delete a workspace", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*deletedOutput, error) {
		out := &deletedOutput{}
		var err error
		out.Body.ID, err = e.Delete(ctx, in.WorkspaceID)
		return out, err
	})
}

func list(ctx context.Context, e *engine.Engine, cursors *restapi.Cursors, in *listInput) (*listOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{"search": in.Search, "slug": in.Slug, "dirty": in.Dirty} {
		if value != "" {
			query.Set(name, value)
		}
	}
	scope := "workspaces?" + query.Encode()
	offset := in.Page.Page * in.Limit
	if in.Cursor != "" {
		if err := cursors.Open(ctx, scope, in.Cursor, &offset); err != nil {
			return nil, err
		}
	}
	q := workspaces.ListQuery{
		Search: in.Search, Slug: in.Slug, Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"),
		Limit: in.Limit, Offset: offset,
	}
	if in.Dirty != "" {
		dirty := in.Dirty == "true"
		q.Dirty = &dirty
	}
	items, total, err := e.List(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &listOutput{Body: make([]Workspace, 0, len(items))}
	for _, w := range items {
		out.Body = append(out.Body, view(w))
	}
	out.Total = strconv.Itoa(total)
	if next := offset + len(items); next < total && len(items) > 0 {
		cursor, err := cursors.Seal(ctx, scope, next)
		if err != nil {
			return nil, err
		}
		query.Set("cursor", cursor)
		out.Link = restapi.NextLink("/v2/workspaces", query)
	}
	return out, nil
}
