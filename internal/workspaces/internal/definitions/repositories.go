package definitions

import (
	"context"
	"slices"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/repositories"
)

// repositoriesKey is the part of an index that says where its workspace is pushed to and pulled from.
const repositoriesKey = "repositories"

// Settle makes an index that somebody edits one that may be stored, in the transaction of the edit; before is nil for a new
// one.
type Settle func(ctx context.Context, e *Edit, before, after *dsul.Document) (*dsul.Document, error)

// settle is what becomes of a document that somebody edits. Imports, pulls, undos and rollbacks bring texts that hold no
// credentials, and are kept as they are.
func (e *Edit) settle(ctx context.Context, doc *dsul.Document) (*dsul.Document, error) {
	if doc.Kind != dsul.Index || e.d.Settle == nil || slices.Contains([]string{ByImport, ByPull, ByUndo, ByRollback}, e.purpose.Reason) {
		return doc, nil
	}
	stored, err := e.Get(ctx, string(dsul.Index))
	if err != nil {
		return nil, err
	}
	var before *dsul.Document
	if stored != nil {
		before = stored.Parsed
	}
	if !changed(before, doc, repositoriesKey) {
		return doc, nil
	}
	if err := e.Visit.Check(access.ActionManageRepositories); err != nil {
		return nil, err
	}
	return e.d.Settle(ctx, e, before, doc)
}

// WithoutRepositories is an index without the repositories in it.
func WithoutRepositories(index *dsul.Document) (*dsul.Document, error) {
	text, err := splice.Delete(index.Text, []string{repositoriesKey})
	if err != nil {
		return nil, errs.Wrap(err, "take the repositories out of an index")
	}
	without, problems := dsul.Parse(dsul.Index, "", text)
	return without, problems.Err()
}

// SetRepositories gives a workspace that has just been made the repositories of its index, as its owner would. One without
// any stays as it is.
func (d *Definitions) SetRepositories(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, index *dsul.Document) (workspaces.Workspace, error) {
	if !changed(nil, index, repositoriesKey) {
		return w, nil
	}
	return d.EditIn(ctx, tx, w.ID, Purpose{}, func(ctx context.Context, e *Edit) error { return e.Put(ctx, index, ".yml") })
}

// Repositories lists what a workspace that the caller may read can be pushed to and pulled from.
func (d *Definitions) Repositories(ctx context.Context, ref string) (workspaces.Workspace, []repositories.Repository, error) {
	index, err := d.Read(ctx, ref, dsul.Index, "")
	if err != nil {
		return workspaces.Workspace{}, nil, err
	}
	all, err := d.Platform.Available(index.Parsed, index.Workspace.Slug)
	return index.Workspace, all, err
}
