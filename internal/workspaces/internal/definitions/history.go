package definitions

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// History lists the edits of a workspace before a revision (0 for the newest), the newest first; with a path only those of
// that document.
func (d *Definitions) History(ctx context.Context, ref, path string, before int64, limit int) ([]store.Revision, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	return store.History(ctx, d.DB, v.Workspace.ID, path, before, limit)
}

// TextAt gives the text that a document had after an edit of it.
func (d *Definitions) TextAt(ctx context.Context, ref, path string, revision int64) ([]byte, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	edit, err := store.GetRevision(ctx, d.DB, v.Workspace.ID, revision)
	if sqldb.IsNotFound(err) {
		return nil, errs.Missing("revisions", fmt.Sprint(revision))
	}
	if err != nil {
		return nil, err
	}
	if err := d.shownPage(ctx, v, path); err != nil {
		return nil, err
	}
	for _, c := range edit.Changes {
		if c.Path == path && c.AfterHash != "" {
			return store.Text(ctx, d.DB, v.Workspace.ID, c.AfterHash)
		}
	}
	return nil, missing(path)
}

// Undo takes an edit back: every document that it changed is again what it was before. It is an edit of its own, so it can
// be undone too. A document that was changed since is a conflict, and nothing is done.
func (d *Definitions) Undo(ctx context.Context, ref string, revision int64) (after workspaces.Workspace, written, deleted []string, err error) {
	purpose := Purpose{Reason: ByUndo, Note: fmt.Sprint(revision)}
	return d.restoring(ctx, ref, purpose, func(ctx context.Context, e *Edit) (*store.Version, error) { return nil, e.undo(ctx, revision) })
}

// mostTold is how many documents an undo may change for each of them to be told of.
const mostTold = 100

// undo makes the documents that an edit changed what they were before. Of very many it holds the texts alone.
func (e *Edit) undo(ctx context.Context, revision int64) error {
	if err := e.Visit.Check(access.ActionUpdate); err != nil {
		return err
	}
	edit, err := store.GetRevision(ctx, e.Tx, e.Workspace.ID, revision)
	if sqldb.IsNotFound(err) {
		return errs.Missing("revisions", fmt.Sprint(revision))
	}
	if err != nil {
		return err
	}
	if err := e.unchanged(ctx, edit.Changes); err != nil {
		return err
	}
	e.purpose.Quiet = len(edit.Changes) > mostTold
	for _, c := range edit.Changes {
		if err := e.restore(ctx, store.Entry{Path: c.Path, Ext: c.BeforeExt, Hash: c.BeforeHash}); err != nil {
			return err
		}
	}
	if err := e.undoSlug(ctx, edit.Changes); err != nil || e.d.Undone == nil {
		return err
	}
	return e.d.Undone(ctx, e.Tx, e.Workspace, revision)
}

// restoring runs an edit that makes documents what they were; fn gives the version that they are of, if any. When the
// documents are not told of one by one, it tells of all of them at once.
func (d *Definitions) restoring(ctx context.Context, ref string, purpose Purpose, fn func(ctx context.Context, e *Edit) (*store.Version, error)) (after workspaces.Workspace, written, deleted []string, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		var edit *Edit
		var version *store.Version
		after, err = d.EditIn(ctx, tx, ref, purpose, func(ctx context.Context, e *Edit) error {
			edit = e
			version, err = fn(ctx, e)
			written, deleted = e.Changed()
			return err
		})
		if err != nil || !edit.purpose.Quiet || len(written)+len(deleted) == 0 {
			return err
		}
		told := &catalogue.WorkspaceImported{
			Workspace: Facts(after), Files: orEmpty(written), Deleted: orEmpty(deleted), Errors: []catalogue.Finding{},
			ImportedFilesCount: len(written), DeletedFilesCount: len(deleted),
		}
		if version != nil {
			told.Version = VersionFacts(*version)
		}
		return d.Emit(ctx, tx, after.ID, told)
	})
	return after, written, deleted, err
}

// undoSlug gives the workspace the slug back that an edit of its index took away.
func (e *Edit) undoSlug(ctx context.Context, changes []store.Change) error {
	for _, c := range changes {
		if c.Path != string(dsul.Index) || c.BeforeHash == "" {
			continue
		}
		before, _, err := e.d.parse(ctx, e.Tx, e.Workspace.ID, store.Document{Path: c.Path, Hash: c.BeforeHash})
		if err != nil {
			return err
		}
		after, _, err := e.d.parse(ctx, e.Tx, e.Workspace.ID, store.Document{Path: c.Path, Hash: c.AfterHash})
		if err != nil {
			return err
		}
		if was := textOf(before.Get("slug")); was != "" && textOf(after.Get("slug")) == e.Workspace.Slug {
			return e.Reslug(was)
		}
	}
	return nil
}

// unchanged refuses to go on when a document is not any more what an edit left.
func (e *Edit) unchanged(ctx context.Context, changes []store.Change) error {
	var paths []string
	for _, c := range changes {
		found, err := store.GetDocument(ctx, e.Tx, e.Workspace.ID, c.Path)
		if err != nil && !sqldb.IsNotFound(err) {
			return err
		}
		if found.Hash != c.AfterHash {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return errs.New(errs.Conflict, "Something was changed again since this edit; undo the later edits first.").
		With("documents", paths).WithStatus(http.StatusConflict)
}

// restore makes a document what it was: the text with the hash, or nothing when that is empty.
func (e *Edit) restore(ctx context.Context, entry store.Entry) error {
	if entry.Hash == "" {
		return e.Delete(ctx, entry.Path)
	}
	parsed, _, err := e.d.parse(ctx, e.Tx, e.Workspace.ID, store.Document{Path: entry.Path, Hash: entry.Hash})
	if err != nil {
		return err
	}
	return e.Put(ctx, parsed, entry.Ext)
}

// RestoreTree makes the documents of a workspace those of a tree. The index and the security are never deleted.
func (e *Edit) RestoreTree(ctx context.Context, tree []store.Entry) error {
	current, err := store.Tree(ctx, e.Tx, e.Workspace.ID)
	if err != nil {
		return err
	}
	kept := make(map[string]bool, len(tree))
	for _, entry := range tree {
		kept[entry.Path] = true
		if err := e.restore(ctx, entry); err != nil {
			return err
		}
	}
	for _, entry := range current {
		kind, _, _ := dsul.SplitPath(entry.Path)
		if kept[entry.Path] || kind.Single() {
			continue
		}
		if err := e.Delete(ctx, entry.Path); err != nil {
			return err
		}
	}
	return nil
}

// UndoLast takes back the newest edit that has one of some reasons.
func (d *Definitions) UndoLast(ctx context.Context, ref string, reasons ...string) (after workspaces.Workspace, written, deleted []string, err error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionUpdate)
	if err != nil {
		return after, nil, nil, err
	}
	revision, err := store.LastRevision(ctx, d.DB, v.Workspace.ID, reasons)
	if sqldb.IsNotFound(err) {
		return after, nil, nil, errs.New(errs.NotFound, "There is nothing to undo: the history has no pull, import or rollback.").With("subjectType", "revisions")
	}
	if err != nil {
		return after, nil, nil, err
	}
	return d.Undo(ctx, v.Workspace.ID, revision)
}
