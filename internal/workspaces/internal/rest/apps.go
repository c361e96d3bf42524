package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/apps"
)

// App is an app: a published workspace.
type App struct {
	Slug          string          `json:"slug" doc:"The technical name, unique in the installation, by which it is installed."`
	WorkspaceID   string          `json:"workspaceId,omitempty" doc:"The workspace that publishes it; absent when that is gone."`
	Name          string          `json:"name" doc:"The name people see."`
	Description   json.RawMessage `json:"description" doc:"What it is for: a text, or texts by language."`
	Photo         string          `json:"photo" doc:"The address of its picture."`
	Labels        []string        `json:"labels" nullable:"false" doc:"Labels."`
	Documentation *Documentation  `json:"documentation,omitempty" doc:"The page that documents it; absent when there is none."`
	Config        apps.AppConfig  `json:"config" doc:"What its instances can set. The app's own values are not shown."`
	Version       string          `json:"version" doc:"The name of the version that is shown: its newest, unless another one is asked for."`
	Versions      *[]AppVersion   `json:"versions,omitempty" doc:"All its versions, the newest first. Lists leave them out."`
	CreatedAt     time.Time       `json:"createdAt" doc:"When it was first published."`
	CreatedBy     string          `json:"createdBy" doc:"By whom."`
	UpdatedAt     time.Time       `json:"updatedAt" doc:"When its newest version was published."`
	UpdatedBy     string          `json:"updatedBy" doc:"By whom."`
}

// Documentation is where the documentation of an app is.
type Documentation struct {
	WorkspaceSlug string `json:"workspaceSlug" doc:"The slug of the workspace that publishes the app."`
	Slug          string `json:"slug" doc:"The slug of the page."`
}

// AppVersion is a published version of an app.
type AppVersion struct {
	Name        string          `json:"name" doc:"Its name."`
	Description json.RawMessage `json:"description,omitempty" doc:"What is new in it: a text, or texts by language."`
	CreatedAt   time.Time       `json:"createdAt" doc:"When it was published."`
	CreatedBy   string          `json:"createdBy,omitempty" doc:"By whom."`
}

// PublishApp is the body that publishes a workspace.
type PublishApp struct {
	WorkspaceID      string          `json:"workspaceId" minLength:"1" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	WorkspaceVersion string          `json:"workspaceVersion,omitempty" maxLength:"15" doc:"A native version of the workspace; what it is now when absent."`
	Slug             string          `json:"slug,omitempty" maxLength:"100" doc:"The technical name of the app. A workspace that publishes for the first time needs one, and it cannot change later."`
	Name             string          `json:"name,omitempty" maxLength:"60" doc:"What the app is called; the name of the workspace when absent."`
	Description      json.RawMessage `json:"description,omitempty" doc:"What is new in this version: a text, or texts by language."`
	Version          string          `json:"version,omitempty" maxLength:"15" doc:"The name of the new version: 1 to 15 letters, digits and _ . -; made from the day when absent."`
}

func appView(app apps.App) App {
	shown := App{
		Slug: app.Slug, WorkspaceID: app.WorkspaceID, Name: app.Outline.Name, Description: app.Outline.Description, Photo: app.Outline.Photo,
		Labels: orEmpty(app.Outline.Labels), Config: app.Outline.Config, Version: app.Version,
		CreatedAt: app.CreatedAt, CreatedBy: app.CreatedBy, UpdatedAt: app.UpdatedAt, UpdatedBy: app.UpdatedBy,
	}
	if app.Outline.Documented && app.WorkspaceSlug != "" {
		shown.Documentation = &Documentation{WorkspaceSlug: app.WorkspaceSlug, Slug: apps.Documentation}
	}
	if app.Versions != nil {
		versions := versionViews(app.Versions)
		shown.Versions = &versions
	}
	return shown
}

func versionViews(all []apps.Version) []AppVersion {
	shown := make([]AppVersion, 0, len(all))
	for _, v := range all {
		one := AppVersion{Name: v.Name, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy}
		if v.Description != "" {
			one.Description = json.RawMessage(v.Description)
		}
		shown = append(shown, one)
	}
	return shown
}

// OfApp names an app; inputs embed it.
type OfApp struct {
	Slug string `path:"slug" maxLength:"100" doc:"The slug of the app."`
}

type listAppsInput struct {
	restapi.Page
	Search      string `query:"search" maxLength:"200" doc:"Text in the name, the slug or the description."`
	Labels      string `query:"labels" maxLength:"2000" doc:"A comma list of labels: apps with any of them."`
	WorkspaceID string `query:"workspaceId" maxLength:"80" doc:"Only the app of this workspace: its id, or slug: and its slug."`
	Sort        string `query:"sort" enum:"name,-name,slug,-slug,createdAt,-createdAt,updatedAt,-updatedAt" default:"name" doc:"The order; a dash reverses it."`
}

type appsOutput struct {
	restapi.Listed
	Body []App
}

type publishInput struct{ Body PublishApp }

type publishOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     App
}

type getAppInput struct {
	OfApp

	Version string `query:"version" maxLength:"64" doc:"One of its versions; the newest when absent."`
}

type appOutput struct{ Body App }

type appVersionsOutput struct{ Body []AppVersion }

type deleteAppInput struct {
	OfApp

	Force string `query:"force" enum:"true,false" doc:"true deletes the app also while workspaces use it."`
}

const appsPath = "/v2/apps"

// RegisterApps adds the operations on apps and on app instances.
func RegisterApps(api *restapi.API, a *apps.Apps, cursors *restapi.Cursors) {
	registerInstances(api, a, cursors)
	registerDependants(api, a, cursors)
	operation := func(id, method, path, summary string, scope access.Scope) restapi.Operation {
		return restapi.Operation{
			ID: id, Method: method, Path: appsPath + path, Tag: "Apps", Summary: summary, Policy: access.Callers, Scope: scope,
			Errors: []errs.Code{errs.NotFound},
		}
	}
	all := operation("listApps", http.MethodGet, "", "List apps", access.WorkspacesRead)
	all.Description, all.Errors = "The apps that the caller may read: all of them, unless the rules of their workspaces say otherwise.", nil
	restapi.Register(api, all, func(ctx context.Context, in *listAppsInput) (*appsOutput, error) {
		return listApps(ctx, a, cursors, in)
	})
	publish := operation("publishApp", http.MethodPost, "", "Publish a workspace as an app", access.WorkspacesWrite)
	publish.Description = "Copies the documents of the workspace, without its security, as a version of its app that never changes. The first time answers 201, " +
		"a further version 200. The workspace needs a photo and a description. At most 1000 versions are kept: the oldest that nobody uses go."
	publish.Status, publish.Errors = http.StatusCreated, []errs.Code{errs.WorkspaceAccessDenied, errs.AlreadyExists, errs.Locked, errs.QuotaExceeded}
	restapi.Register(api, publish, func(ctx context.Context, in *publishInput) (*publishOutput, error) { return publishApp(ctx, a, in) })
	restapi.Register(api, operation("getApp", http.MethodGet, "/{slug}", "Read an app", access.WorkspacesRead),
		func(ctx context.Context, in *getAppInput) (*appOutput, error) {
			app, err := a.Get(ctx, in.Slug, in.Version)
			return &appOutput{Body: appView(app)}, err
		})
	restapi.Register(api, operation("listAppVersions", http.MethodGet, "/{slug}/versions", "List the versions of an app", access.WorkspacesRead),
		func(ctx context.Context, in *OfApp) (*appVersionsOutput, error) {
			versions, err := a.Versions(ctx, in.Slug)
			return &appVersionsOutput{Body: versionViews(versions)}, err
		})
	remove := operation("deleteApp", http.MethodDelete, "/{slug}", "Delete an app", access.WorkspacesWrite)
	remove.Description = "With all its versions. While workspaces use it, it is refused unless force=true; their instances stay, and do nothing any more."
	remove.Errors = append(remove.Errors, errs.WorkspaceAccessDenied, errs.Conflict)
	restapi.Register(api, remove, func(ctx context.Context, in *deleteAppInput) (*deletedOutput, error) {
		out := &deletedOutput{}
		out.Body.ID = in.Slug
		return out, a.Delete(ctx, in.Slug, in.Force == "true")
	})
}

func publishApp(ctx context.Context, a *apps.Apps, in *publishInput) (*publishOutput, error) {
	body := in.Body
	app, first, err := a.Publish(ctx, apps.Publication{
		Workspace: body.WorkspaceID, Version: body.WorkspaceVersion, Slug: body.Slug, Name: body.Name, Description: body.Description, As: body.Version,
	})
	if err != nil {
		return nil, err
	}
	out := &publishOutput{Status: http.StatusOK, Body: appView(app)}
	if first {
		out.Status, out.Location = http.StatusCreated, appsPath+"/"+url.PathEscape(app.Slug)
	}
	return out, nil
}

func listApps(ctx context.Context, a *apps.Apps, cursors *restapi.Cursors, in *listAppsInput) (*appsOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{"search": in.Search, "labels": in.Labels, "workspaceId": in.WorkspaceID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	offset, err := in.From(ctx, cursors, appsPath+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, err := a.List(ctx, apps.Query{
		Search: in.Search, Labels: commaList(in.Labels), WorkspaceID: in.WorkspaceID,
		Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"), Limit: in.Limit, Offset: offset,
	})
	if err != nil {
		return nil, err
	}
	out := &appsOutput{Body: make([]App, 0, len(found))}
	for _, app := range found {
		out.Body = append(out.Body, appView(app))
	}
	out.Listed, err = restapi.NewListed(ctx, cursors, restapi.Place{Path: appsPath, Query: query, Next: nextOf(offset, len(found), total), Total: total})
	return out, err
}

// nextOf is where the next page begins: nowhere after a page without items.
func nextOf(offset, items, total int) int {
	if items == 0 {
		return total
	}
	return offset + items
}
