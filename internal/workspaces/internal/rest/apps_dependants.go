package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/apps"
)

// Dependants are those who use an app.
type Dependants struct {
	Workspaces []Dependant `json:"workspaces" nullable:"false" doc:"The workspaces that use it and that the caller may read."`
	Others     int         `json:"others" doc:"How many more workspaces use it, also those in the bin."`
}

// Dependant is a workspace that uses an app.
type Dependant struct {
	ID        string         `json:"id" doc:"The workspace's id."`
	Slug      string         `json:"slug" doc:"Its slug."`
	Name      string         `json:"name" doc:"Its name."`
	Instances []DependantUse `json:"instances" nullable:"false" doc:"Its instances of the app."`
}

// DependantUse is an instance of an app.
type DependantUse struct {
	Slug       string `json:"slug" doc:"The slug of the instance."`
	AppVersion string `json:"appVersion" doc:"The version that it uses; current follows the app."`
}

type dependantsInput struct {
	OfApp
	restapi.Page
}

type dependantsOutput struct {
	restapi.Listed
	Body Dependants
}

func registerDependants(api *restapi.API, a *apps.Apps, cursors *restapi.Cursors) {
	restapi.Register(api, restapi.Operation{
		ID: "listAppDependants", Method: http.MethodGet, Path: appsPath + "/{slug}/dependants", Tag: "Apps", Summary: "List the workspaces that use an app",
		Policy: access.Callers, Scope: access.WorkspacesRead, Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *dependantsInput) (*dependantsOutput, error) {
		return listDependants(ctx, a, cursors, in)
	})
}

func listDependants(ctx context.Context, a *apps.Apps, cursors *restapi.Cursors, in *dependantsInput) (*dependantsOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}}
	path := appsPath + "/" + url.PathEscape(in.Slug) + "/dependants"
	offset, err := in.From(ctx, cursors, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, others, err := a.Dependants(ctx, in.Slug, in.Limit, offset)
	if err != nil {
		return nil, err
	}
	out := &dependantsOutput{Body: Dependants{Workspaces: make([]Dependant, 0, len(found)), Others: others}}
	for _, d := range found {
		one := Dependant{ID: d.ID, Slug: d.Slug, Name: d.Name, Instances: make([]DependantUse, 0, len(d.Instances))}
		for _, i := range d.Instances {
			one.Instances = append(one.Instances, DependantUse{Slug: i.Slug, AppVersion: i.Version})
		}
		out.Body.Workspaces = append(out.Body.Workspaces, one)
	}
	out.Listed, err = restapi.NewListed(ctx, cursors, restapi.Place{Path: path, Query: query, Next: nextOf(offset, len(found), total), Total: total})
	return out, err
}
