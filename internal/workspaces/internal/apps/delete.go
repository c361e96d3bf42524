package apps

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Delete removes an app with all its versions. While workspaces use it that is refused, unless it is forced: their instances
// stay, and do nothing any more.
func (a *Apps) Delete(ctx context.Context, slug string, force bool) error {
	if _, known := platformApp(slug); known {
		return errs.New(errs.PermissionDenied, "This app is part of the platform and cannot be deleted.").
			With("action", access.ActionDelete).With("subjectType", access.SubjectApps).With("id", slug)
	}
	return a.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		app, err := a.deletable(ctx, tx, slug)
		if err != nil {
			return err
		}
		if there, err := hold(ctx, tx, slug); err != nil || !there {
			if err == nil { // somebody else was first
				err = errs.Missing(access.SubjectApps, slug)
			}
			return err
		}
		used, err := instances(ctx, tx, slug)
		if err != nil {
			return err
		}
		if len(used) > 0 && !force {
			return errs.New(errs.Conflict, "Workspaces use the app; uninstall it there first, or delete it with force=true.").With("instances", len(used))
		}
		if err := remove(ctx, tx, slug); err != nil {
			return err
		}
		return a.tellDeleted(ctx, tx, app)
	})
}

// deletable reads an app that the caller may delete. Whoever may neither delete nor read it does not learn that it exists.
func (a *Apps) deletable(ctx context.Context, tx *sqldb.Tx, slug string) (App, error) {
	app, err := get(ctx, tx, slug)
	if sqldb.IsNotFound(err) {
		return App{}, errs.Missing(access.SubjectApps, slug)
	}
	if err != nil {
		return App{}, err
	}
	refused := a.mayDelete(ctx, tx, app)
	if refused == nil {
		return app, nil
	}
	if _, err := a.find(ctx, tx, slug); err != nil {
		return App{}, err
	}
	return App{}, refused
}

// mayDelete refuses whoever may not delete an app. One whose workspace is gone, or in the bin, is the super admins'.
func (a *Apps) mayDelete(ctx context.Context, tx *sqldb.Tx, app App) error {
	if app.WorkspaceSlug == "" {
		if access.From(ctx).SuperAdmin {
			return nil
		}
		return errs.New(errs.PermissionDenied, "The workspace of this app is gone: only a super admin can delete it.").
			With("action", access.ActionDelete).With("subjectType", access.SubjectApps).With("id", app.Slug)
	}
	visit, err := a.Definitions.Door.Visit(ctx, tx, app.WorkspaceID)
	if err != nil {
		return err
	}
	return visit.CheckObject(access.ActionDelete, access.SubjectApps, app.fields())
}

func (a *Apps) tellDeleted(ctx context.Context, tx *sqldb.Tx, app App) error {
	in := app.WorkspaceID
	if in == "" {
		in = access.PlatformWorkspace
	}
	return a.Definitions.Emit(ctx, tx, in, &catalogue.AppDeleted{AppSlug: app.Slug})
}

// Purge removes the app of a workspace that is being removed for good. While other workspaces use it, it stays without one.
func (a *Apps) Purge(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	app, err := ofWorkspace(ctx, tx, workspaceID)
	if sqldb.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := hold(ctx, tx, app.Slug); err != nil {
		return err
	}
	used, err := instances(ctx, tx, app.Slug)
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return orphan(ctx, tx, app.Slug)
	}
	if err := remove(ctx, tx, app.Slug); err != nil {
		return err
	}
	return a.tellDeleted(ctx, tx, app)
}
