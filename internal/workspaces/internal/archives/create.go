package archives

import (
	"context"
	"errors"
	"slices"

	"atelier/internal/dsul"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/store"
)

// Create makes workspaces of the caller from an archive: one, or as many as a bulk archive has. Ids and owners in it mean
// nothing here.
func (a *Archives) Create(ctx context.Context, from *archive.Archive, opts Options) (Result, error) {
	if from.Bulk != nil {
		return a.bulk(ctx, from.Bulk, opts)
	}
	if err := a.Engine.MayCreate(ctx); err != nil {
		return Result{}, err
	}
	checked, err := a.check(ctx, from)
	if err != nil {
		return Result{}, err
	}
	failpoint.At("import.checked")
	return a.create(ctx, checked, opts, nil)
}

// create makes one workspace from an archive that was checked; labels are added to its own.
func (a *Archives) create(ctx context.Context, c *content, opts Options, labels []string) (Result, error) {
	made, err := applying(c, func(c *content) (Result, error) {
		for left := 3; ; left-- {
			made, err := a.createOnce(ctx, c, opts, labels)
			if left == 0 || !sqldb.IsUnique(err) {
				return made, err
			} // somebody was faster with the slug; now it is known to be taken
		}
	})
	if err != nil {
		return Result{}, engine.Taken(err, slugOf(c.index.Document))
	}
	if opts.DryRun {
		a.planned(c.info, &made)
		return made, nil
	}
	failpoint.At("import.committed")
	a.publish(ctx, made.WorkspaceID, c.info, &made)
	return made, nil
}

// createOnce makes the workspace in one transaction, which a dry run takes back.
func (a *Archives) createOnce(ctx context.Context, c *content, opts Options, labels []string) (Result, error) {
	w := a.Engine.Fresh(ctx)
	definitions.TakeOver(&w, c.index.Document, false)
	if w.Name == "" {
		w.Name = "Import"
	}
	w.Labels = union(w.Labels, labels)
	var findings []Finding
	var err error
	if w.Slug, findings, err = a.freeSlug(ctx, c.index.Document, w); err != nil {
		return Result{}, err
	}
	var result Result
	err = a.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		result = Result{WorkspaceID: w.ID, Findings: slices.Concat(c.findings, findings)}
		if err := a.establish(ctx, tx, w, c, &result); err != nil {
			return err
		}
		if opts.DryRun {
			return errRehearsed
		}
		return nil
	})
	if errors.Is(err, errRehearsed) {
		result.WorkspaceID = "" // there is none
		return result, nil
	}
	return result, err
}

func (a *Archives) establish(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, c *content, result *Result) error {
	if err := a.Engine.Establish(ctx, tx, w, c.index.Document); err != nil {
		return err
	}
	failpoint.At("import.established")
	purpose := definitions.Purpose{Reason: definitions.ByImport, Quiet: true, KeepLabels: true}
	after, err := a.Definitions.EditIn(ctx, tx, w.ID, purpose, func(ctx context.Context, e *definitions.Edit) error {
		return a.write(ctx, e, c, Options{}, result)
	})
	if err != nil {
		return err
	}
	result.Imported, result.Unchanged = nil, 0 // nothing was there before
	for _, doc := range c.all(true) {
		result.Imported = append(result.Imported, doc.Path())
	}
	failpoint.At("import.written")
	return a.finish(ctx, tx, after, c, *result)
}

// freeSlug is the slug that the archive asks for when it is free, and a new one otherwise.
func (a *Archives) freeSlug(ctx context.Context, index *dsul.Document, w workspaces.Workspace) (string, []Finding, error) {
	slug := slugOf(index)
	if slug == "" || !workspaces.ValidSlug(slug) {
		return engine.InventSlug(w.Name, a.Engine.IDs), nil, nil
	}
	_, err := store.Find(ctx, a.DB, store.SlugPrefix+slug)
	if sqldb.IsNotFound(err) {
		return slug, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return engine.InventSlug(w.Name, a.Engine.IDs), []Finding{{
		Msg: "The slug " + slug + " is already used; the workspace got another one.", Err: "SlugAlreadyInUse", Path: string(dsul.Index),
	}}, nil
}
