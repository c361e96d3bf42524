package apps

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// Query filters and orders the list of apps.
type Query struct {
	// Search is text in the name, the slug or the description; Labels asks for any of them.
	Search string
	Labels []string
	// WorkspaceID asks for the app of a workspace, by its id or its slug.
	WorkspaceID string
	// Sort is name, slug, createdAt or updatedAt; Descending reverses it.
	Sort          string
	Descending    bool
	Limit, Offset int
}

// List reads apps that the caller may read, and how many there are in all.
func (a *Apps) List(ctx context.Context, q Query) (found []App, total int, err error) {
	if q.WorkspaceID != "" {
		if q.WorkspaceID, err = store.Resolve(ctx, a.DB, q.WorkspaceID); err != nil {
			return nil, 0, err
		}
	}
	hidden, err := a.hidden(ctx)
	if err != nil {
		return nil, 0, err
	}
	return list(ctx, a.DB, access.Dialect(a.DB.Driver()), hidden, q)
}

// hidden lists the apps that the caller may not read. Only those are asked about whose workspace has rules that could hide
// them, or is gone.
func (a *Apps) hidden(ctx context.Context) (hidden []string, err error) {
	byWorkspace, doubtful, err := workspacesOf(ctx, a.DB)
	if err != nil {
		return nil, err
	}
	denying, err := a.Access.Denying(ctx, a.DB, access.Dialect(a.DB.Driver()), slices.Collect(maps.Keys(byWorkspace)), access.ActionRead, access.SubjectApps)
	if err != nil {
		return nil, err
	}
	for _, id := range denying {
		doubtful = append(doubtful, byWorkspace[id])
	}
	for _, slug := range doubtful {
		_, err := a.find(ctx, a.DB, slug)
		if errs.CodeOf(err) == errs.NotFound {
			hidden = append(hidden, slug)
		} else if err != nil {
			return nil, err
		}
	}
	return hidden, nil
}

// Get reads an app as it is in a version, the newest when that is empty.
func (a *Apps) Get(ctx context.Context, slug, version string) (App, error) {
	app, err := a.find(ctx, a.DB, slug)
	if err != nil {
		return App{}, err
	}
	if version != "" && version != Current {
		app.Outline, err = outline(ctx, a.DB, slug, version)
		if sqldb.IsNotFound(err) {
			return App{}, errs.Missing("versions", version)
		}
		if err != nil {
			return App{}, err
		}
		app.Version = version
	}
	if app.Versions != nil { // of a built-in app
		return app, nil
	}
	app.Versions, err = versions(ctx, a.DB, slug)
	return app, err
}

// Versions lists the versions of an app, the newest first.
func (a *Apps) Versions(ctx context.Context, slug string) ([]Version, error) {
	app, err := a.find(ctx, a.DB, slug)
	if err != nil || app.Versions != nil { // those of a built-in app are known
		return app.Versions, err
	}
	return versions(ctx, a.DB, slug)
}

// Dependants lists the workspaces with an instance of an app that the caller may read, and how many they are; of the others
// only their number is told.
func (a *Apps) Dependants(ctx context.Context, slug string, limit, offset int) (found []Dependant, total, others int, err error) {
	if _, err := a.find(ctx, a.DB, slug); err != nil {
		return nil, 0, 0, err
	}
	readable, err := a.readable(ctx, a.DB)
	if err != nil {
		return nil, 0, 0, err
	}
	if found, total, err = dependants(ctx, a.DB, readable, slug, limit, offset); err != nil {
		return nil, 0, 0, err
	}
	all, err := instances(ctx, a.DB, slug)
	if err != nil {
		return nil, 0, 0, err
	}
	installed := map[string][]Installed{}
	for _, one := range all {
		installed[one.workspaceID] = append(installed[one.workspaceID], Installed{Slug: one.slug, Version: orCurrent(one.version)})
	}
	for i := range found {
		found[i].Instances = installed[found[i].ID]
	}
	return found, total, max(len(installed)-total, 0), nil
}

// fieldsByID reads what the conditions of rules on workspaces look at.
func (a *Apps) fieldsByID(ctx context.Context, r sqldb.Reader, ids []string) (map[string]access.Object, error) {
	found, err := store.ByIDs(ctx, r, access.Dialect(a.DB.Driver()), ids)
	fields := make(map[string]access.Object, len(found))
	for _, w := range found {
		fields[w.ID] = door.FieldsOf(w)
	}
	return fields, err
}

func orCurrent(version string) string {
	if version == "" {
		return Current
	}
	return version
}
