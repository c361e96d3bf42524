package definitions

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// Whoever may read a workspace may read its definition as a whole, pages included: that is what exports, versions and
// comparisons are for. A page that a rule takes away from the caller is the exception, and stays hidden there too.

// withheld tells that a rule takes a page away from the caller.
func withheld(v *door.Visit, page store.Document) bool {
	decision := v.Ability.Decide(access.ActionRead, access.SubjectPages, PageFields(v.Ability, page))
	return !decision.Allowed && decision.Rule != nil
}

// hiddenPages lists the paths of the pages that rules take away from the caller.
func (d *Definitions) hiddenPages(ctx context.Context, v *door.Visit) (map[string]bool, error) {
	pages, err := store.Documents(ctx, d.DB, v.Workspace.ID, string(dsul.Page)+"/")
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, page := range pages {
		if withheld(v, page) {
			paths[page.Path] = true
		}
	}
	return paths, nil
}

// readsAll refuses a caller from whom a page is hidden what shows all of them.
func (d *Definitions) readsAll(ctx context.Context, v *door.Visit) error {
	paths, err := d.hiddenPages(ctx, v)
	if err != nil || len(paths) == 0 {
		return err
	}
	return errs.New(errs.PermissionDenied, "A rule of the workspace hides pages from you, so you cannot have it as a whole.")
}

// ReadsAll refuses a caller from whom a page is hidden what shows all of them.
func (d *Definitions) ReadsAll(ctx context.Context, v *door.Visit) error { return d.readsAll(ctx, v) }

// shownPage refuses a page that is hidden from the caller.
func (d *Definitions) shownPage(ctx context.Context, v *door.Visit, path string) error {
	if kind, _, _ := dsul.SplitPath(path); kind != dsul.Page {
		return nil
	}
	page, err := store.GetDocument(ctx, d.DB, v.Workspace.ID, path)
	if sqldb.IsNotFound(err) {
		page, err = store.Document{Path: path, Summary: "{}"}, nil
	}
	if err != nil {
		return err
	}
	if withheld(v, page) {
		return v.CheckObject(access.ActionRead, access.SubjectPages, PageFields(v.Ability, page))
	}
	return nil
}
