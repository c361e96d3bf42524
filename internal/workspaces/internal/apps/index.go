package apps

import (
	"context"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// Index reads the index of a version of an app for an instance that a workspace has of it, of the newest when the version is
// empty; nil when there is none that the caller may read. It holds more than the outline shows: it is for what runs or draws
// the app, not for people.
func (a *Apps) Index(ctx context.Context, r sqldb.Reader, slug, version string) (*dsul.Document, error) {
	app, err := get(ctx, r, slug)
	if sqldb.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	if app.WorkspaceSlug != "" { // without its workspace it is left to those that use it, and so to their visitors
		if readable, err := a.mayUse(ctx, r, app); err != nil || !readable {
			return nil, err
		}
	}
	return a.index(ctx, r, slug, version)
}

func (a *Apps) index(ctx context.Context, r sqldb.Reader, slug, version string) (*dsul.Document, error) {
	var tree string
	err := r.QueryRow(ctx, `SELECT v.tree FROM ws_apps a
		JOIN ws_app_versions v ON v.app_slug = a.slug AND v.name = CASE WHEN $2 IN ('', 'current') THEN a.version ELSE $2 END
		WHERE a.slug = $1`, slug, version).Scan(&tree)
	if sqldb.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	entries, err := store.GetTree(ctx, r, owner(slug), tree)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Path != string(dsul.Index) {
			continue
		}
		text, err := store.Text(ctx, r, owner(slug), entry.Hash)
		if err != nil {
			return nil, err
		}
		index, problems := dsul.Parse(dsul.Index, "", text)
		if err := problems.Err(); err != nil {
			return nil, errs.Newf(errs.Internal, "The app %s cannot be read any more. Quote the correlation id when you report it.", slug).Because(err)
		}
		return index, nil
	}
	return nil, nil //nolint:nilnil // an app without an index has no blocks and no configuration
}
