// Package apps keeps the apps of the installation: workspaces that were published, so that others can use them. A version of
// an app is a copy of the documents of its workspace that never changes.
package apps

import (
	"context"
	"encoding/json"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Apps is the use cases of apps. Who may do what is checked here, below every way in.
type Apps struct {
	DB          *sqldb.DB
	Access      *access.Enforcer
	Definitions *definitions.Definitions
}

// Current is the version that follows the app: always its newest.
const Current = definitions.Current

// App is an app as it is stored, with the outline of one of its versions.
type App struct {
	Slug string
	// WorkspaceID is empty when the workspace that published it is gone; WorkspaceSlug also when that is in the bin.
	WorkspaceID, WorkspaceSlug string
	// Version is the name of the newest version.
	Version              string
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
	Outline              Outline
	// Versions are all of them, the newest first. Lists leave them out.
	Versions []Version
}

// Version is a published version of an app.
type Version struct {
	Name string
	// Description is JSON: a text, or texts by language; empty when there is none.
	Description string
	CreatedAt   time.Time
	CreatedBy   string

	number        int64
	tree, outline string
}

// owner is whose the texts of an app are.
func owner(slug string) string { return "app/" + slug }

// fields is what the conditions of rules on apps look at.
func (app App) fields() access.Fields {
	return access.Fields{
		"id": app.Slug, "workspaceId": app.WorkspaceID, "slug": app.Slug, "name": app.Outline.Name, "labels": app.Outline.Labels, "createdBy": app.CreatedBy,
	}
}

// find reads an app that the caller may read; resource_not_found for any other.
func (a *Apps) find(ctx context.Context, r sqldb.Reader, slug string) (App, error) {
	if app, known := platformApp(slug); known {
		return app, nil
	}
	app, err := get(ctx, r, slug)
	if sqldb.IsNotFound(err) {
		return App{}, errs.Missing(access.SubjectApps, slug)
	}
	if err != nil {
		return App{}, err
	}
	readable, err := a.mayRead(ctx, r, app)
	if err != nil {
		return App{}, err
	}
	if !readable {
		return App{}, errs.Missing(access.SubjectApps, slug)
	}
	return app, nil
}

// mayRead tells whether the caller may read an app: everybody may, unless the rules of its workspace say otherwise. An app
// whose workspace is gone, and with it the rules, is left to those who use it.
func (a *Apps) mayRead(ctx context.Context, r sqldb.Reader, app App) (bool, error) {
	if app.WorkspaceSlug != "" {
		ability, err := a.Access.Load(ctx, r, app.WorkspaceID)
		if err != nil {
			return false, err
		}
		return ability.Decide(access.ActionRead, access.SubjectApps, app.fields()).Allowed, nil
	}
	if access.From(ctx).SuperAdmin {
		return true, nil
	}
	readable, err := a.readable(ctx, r)
	if err != nil {
		return false, err
	}
	_, users, err := dependants(ctx, r, readable, app.Slug, 0, 0)
	return users > 0, err
}

// readable is the condition of the workspaces that the caller may read.
func (a *Apps) readable(ctx context.Context, r sqldb.Reader) (access.Filter, error) {
	return a.Access.Workspaces(ctx, r, store.Columns(a.DB), a.fieldsByID)
}

// facts is what events say of an app.
func (app App) facts() *catalogue.App {
	newest := app.Versions[0]
	said := &catalogue.App{
		WorkspaceID: app.WorkspaceID, Slug: app.Slug, Name: app.Outline.Name, Description: app.Outline.Description, Photo: app.Outline.Photo,
		Labels: app.Outline.Labels, Config: app.Outline.Config,
		Version: catalogue.Version{Name: newest.Name, CreatedAt: newest.CreatedAt, Description: json.RawMessage(newest.Description)},
	}
	if app.Outline.Documented {
		said.Documentation = &catalogue.AppPage{WorkspaceSlug: app.WorkspaceSlug, Slug: Documentation}
	}
	return said
}
