package definitions

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// The reasons of edits, as the history shows them.
const (
	Edited     = "edit"
	ByImport   = "import"
	ByUndo     = "undo"
	ByRollback = "rollback"
	ByPull     = "pull"
)

// Purpose says why documents are being changed.
type Purpose struct {
	// Reason is one of the above, Note says more, such as the name of a version.
	Reason, Note string
	// Epoch is that of the lock which the caller holds; zero when it holds none.
	Epoch int64
	// Quiet leaves the events of single documents out: something larger tells of all of them.
	Quiet bool
	// Service tells that a service edits on behalf of the workspace: what the caller may do is not asked.
	Service bool
	// KeepLabels leaves the labels of the workspace as the edit sets them, whatever the index says.
	KeepLabels bool
}

// Edit is one change of the documents of a workspace, inside its transaction.
type Edit struct {
	Visit *door.Visit
	// Workspace is the workspace as it will be.
	Workspace workspaces.Workspace
	// Tx is the transaction, for what has to change with the documents.
	Tx *sqldb.Tx

	d       *Definitions
	purpose Purpose
	before  workspaces.Workspace
	changes []*change
}

// change is what happens to one document.
type change struct {
	path       string
	before     *store.Document
	beforeText *dsul.Document
	// after is nil when the document goes.
	after    *dsul.Document
	afterExt string
	// renamed is the path that the document had.
	renamed string
	stored  store.Document
}

// Edit runs fn, which changes documents, and stores what it did with its events as the next revision of the workspace. It
// refuses while somebody else holds the write lock. When nothing changed there is no revision and no event.
func (d *Definitions) Edit(ctx context.Context, ref string, purpose Purpose, fn func(ctx context.Context, e *Edit) error) (after workspaces.Workspace, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		after, err = d.EditIn(ctx, tx, ref, purpose, fn)
		return err
	})
	return after, err
}

// EditIn is Edit inside a transaction that does more.
func (d *Definitions) EditIn(ctx context.Context, tx *sqldb.Tx, ref string, purpose Purpose, fn func(ctx context.Context, e *Edit) error) (workspaces.Workspace, error) {
	// The workspace is held before anything is read of it: what the caller may do is what it may do now.
	id, err := store.Resolve(ctx, tx, ref)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	if _, err := store.Hold(ctx, tx, id); err != nil && !sqldb.IsNotFound(err) {
		return workspaces.Workspace{}, err
	}
	v, err := d.Door.Visit(ctx, tx, ref)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	if v.Workspace.Revision != 0 && v.Workspace.ID != id {
		return workspaces.Workspace{}, errs.New(errs.Conflict, "The slug went to another workspace a moment ago; try again.")
	}
	e := &Edit{d: d, Visit: v, Tx: tx, purpose: purpose, before: v.Workspace, Workspace: v.Workspace}
	if err := fn(ctx, e); err != nil {
		return workspaces.Workspace{}, err
	}
	err = e.finish(ctx)
	return e.Workspace, err
}

// Get reads a document as the edit has left it; nil when there is none.
func (e *Edit) Get(ctx context.Context, path string) (*Stored, error) {
	for _, c := range slices.Backward(e.changes) {
		if c.path != path {
			continue
		}
		if c.after == nil {
			return nil, nil //nolint:nilnil // it was deleted a moment ago
		}
		return &Stored{Document: store.Document{Path: path, Ext: c.afterExt}, Workspace: e.Workspace, Parsed: c.after}, nil
	}
	found, err := e.d.load(ctx, e.Tx, e.Workspace, path)
	if errs.CodeOf(err) == errs.NotFound {
		return nil, nil //nolint:nilnil // there is none
	}
	return &found, err
}

// Put stores a document, in the place of the one with its path when there is one.
func (e *Edit) Put(ctx context.Context, doc *dsul.Document, ext string) error {
	doc, err := e.settle(ctx, doc)
	if err != nil {
		return err
	}
	return e.change(ctx, &change{path: dsul.Path(doc.Kind, doc.Slug), after: e.lean(doc), afterExt: ext})
}

// lean is a document without its nodes where the edit does not need them: it may hold thousands of documents, and their
// nodes take a hundred times the memory of their texts.
func (e *Edit) lean(doc *dsul.Document) *dsul.Document {
	if !e.purpose.Quiet || doc.Kind.Single() {
		return doc
	}
	return &dsul.Document{Kind: doc.Kind, Slug: doc.Slug, Text: doc.Text}
}

// Rename stores a document and removes the one at the path that it had before.
func (e *Edit) Rename(ctx context.Context, from string, doc *dsul.Document, ext string) error {
	if err := e.change(ctx, &change{path: from}); err != nil {
		return err
	}
	return e.change(ctx, &change{path: dsul.Path(doc.Kind, doc.Slug), after: doc, afterExt: ext, renamed: from})
}

// Delete removes a document.
func (e *Edit) Delete(ctx context.Context, path string) error {
	return e.change(ctx, &change{path: path})
}

func (e *Edit) change(ctx context.Context, c *change) error {
	found, err := store.GetDocument(ctx, e.Tx, e.Workspace.ID, c.path)
	switch {
	case err == nil:
		if c.after != nil && found.Hash == store.Hash(c.after.Text) && found.Ext == c.afterExt {
			return nil
		}
		c.before = &found
	case !sqldb.IsNotFound(err):
		return err
	case c.after == nil:
		return nil // there is nothing to delete
	}
	e.changes = append(e.changes, c)
	return nil
}

// Changed tells the paths that the edit has changed so far.
func (e *Edit) Changed() (written, deleted []string) {
	for _, c := range e.changes {
		if c.after == nil {
			deleted = append(deleted, c.path)
		} else {
			written = append(written, c.path)
		}
	}
	return written, deleted
}

// Added tells the paths of documents that the edit has made so far.
func (e *Edit) Added() (added []string) {
	for _, c := range e.changes {
		if c.after != nil && c.before == nil && c.renamed == "" {
			added = append(added, c.path)
		}
	}
	return added
}

// finish stores what the edit did.
func (e *Edit) finish(ctx context.Context) error {
	if len(e.changes) == 0 {
		return nil
	}
	if err := e.CheckLock(); err != nil {
		return err
	}
	e.Workspace.Revision++
	e.Workspace.ContentRevision = e.Workspace.Revision
	e.Workspace.UpdatedAt, e.Workspace.UpdatedBy = e.d.Now(), Author(ctx)
	slices.SortStableFunc(e.changes, func(a, b *change) int { return deletesFirst(a) - deletesFirst(b) })
	for _, c := range e.changes {
		if err := e.apply(ctx, c); err != nil {
			return err
		}
	}
	if err := store.Save(ctx, e.Tx, e.Workspace); err != nil {
		return taken(err, e.Workspace.Slug)
	}
	if err := store.AddRevision(ctx, e.Tx, e.Workspace.ID, e.revision()); err != nil {
		return err
	}
	if e.purpose.Quiet {
		return nil
	}
	return e.tell(ctx)
}

func deletesFirst(c *change) int {
	if c.after == nil {
		return 0
	}
	return 1
}

// CheckLock refuses the edit while another operation holds the write lock.
func (e *Edit) CheckLock() error {
	lock := e.before.Lock
	if !lock.Held(e.d.Clock.Now()) {
		if e.purpose.Epoch != 0 && lock.Epoch != e.purpose.Epoch {
			return lost()
		}
		return nil
	}
	if e.purpose.Epoch != 0 && lock.Epoch == e.purpose.Epoch {
		return nil
	}
	if e.purpose.Epoch != 0 {
		return lost()
	}
	return Locked(lock)
}

// apply stores one change.
func (e *Edit) apply(ctx context.Context, c *change) error {
	if c.before != nil && (!e.purpose.Quiet || c.path == string(dsul.Index)) { // events tell of it, and the index is taken over
		before, _, err := e.d.parse(ctx, e.Tx, e.Workspace.ID, *c.before)
		if err != nil {
			return err
		}
		c.beforeText = before
	}
	if err := e.mayApply(c); err != nil {
		return err
	}
	if c.path == string(dsul.Security) {
		if err := e.secure(ctx, c); err != nil {
			return err
		}
	}
	if c.after == nil {
		return e.remove(ctx, c)
	}
	if c.path == string(dsul.Index) {
		e.takeOver(c)
	}
	return e.write(ctx, c)
}

func (e *Edit) remove(ctx context.Context, c *change) error {
	if c.path == string(dsul.Index) {
		return errs.New(errs.PermissionDenied, "The index of a workspace cannot be deleted.")
	}
	if c.before.ObjectID != "" && !e.moves(c.path) {
		if err := store.KeepPageID(ctx, e.Tx, e.Workspace.ID, c.path, c.before.ObjectID); err != nil {
			return err
		}
	}
	return store.DeleteDocument(ctx, e.Tx, e.Workspace.ID, c.path)
}

// moves tells that the document at the path is only getting another one.
func (e *Edit) moves(path string) bool {
	return slices.ContainsFunc(e.changes, func(c *change) bool { return c.renamed == path })
}

func (e *Edit) write(ctx context.Context, c *change) error {
	w := e.Workspace
	if c.before == nil {
		twin, err := store.Twin(ctx, e.Tx, w.ID, c.path)
		if err != nil {
			return err
		}
		if twin != "" {
			kind, slug, _ := dsul.SplitPath(twin)
			return errs.Newf(errs.AlreadyExists, "There is %s already, which is the same where case does not matter; choose another slug.", twin).
				With("subjectType", string(kind)).With("slug", slug)
		}
	}
	parsed := c.after
	if parsed.Root == nil {
		var problems dsul.Problems
		if parsed, problems = dsul.Parse(parsed.Kind, parsed.Slug, parsed.Text); problems.Err() != nil {
			return problems.Err()
		}
	}
	summary, err := json.Marshal(parsed.Summary())
	if err != nil {
		return err
	}
	hash, err := store.PutText(ctx, e.Tx, w.ID, c.after.Text)
	if err != nil {
		return err
	}
	c.stored = store.Document{
		Path: c.path, Ext: c.afterExt, Hash: hash, Size: int64(len(c.after.Text)), Revision: w.Revision, Summary: string(summary), Registered: registers(parsed),
		CreatedAt: w.UpdatedAt, CreatedBy: w.UpdatedBy, UpdatedAt: w.UpdatedAt, UpdatedBy: w.UpdatedBy,
	}
	if former := e.former(c); former != nil {
		c.stored.CreatedAt, c.stored.CreatedBy, c.stored.ObjectID = former.CreatedAt, former.CreatedBy, former.ObjectID
	}
	if c.after.Kind == dsul.Page && c.stored.ObjectID == "" {
		if c.stored.ObjectID, err = e.pageID(ctx, c.path); err != nil {
			return err
		}
	}
	return store.PutDocument(ctx, e.Tx, w.ID, c.stored)
}

// pageID is the id of a page that is being made: a new one, or the one that it had when it comes back.
func (e *Edit) pageID(ctx context.Context, path string) (string, error) {
	if e.purpose.Reason == ByUndo || e.purpose.Reason == ByRollback {
		former, err := store.FormerPageID(ctx, e.Tx, e.Workspace.ID, path)
		if err != nil || former != "" {
			return former, err
		}
	}
	return e.d.IDs.Workspace(), nil
}

// mayApply refuses what the caller could not do to the document by itself, however the edit came about: rules can be about
// single pages, and about single fields of a workspace.
func (e *Edit) mayApply(c *change) error {
	if c.before == nil || e.purpose.Service {
		return nil
	}
	var err error
	switch kind, _, _ := dsul.SplitPath(c.path); {
	case kind == dsul.Page:
		err = e.Visit.CheckObject(access.ActionUpdate, access.SubjectPages, PageFields(e.Visit.Ability, *c.before))
	case kind == dsul.Index && c.after != nil:
		err = e.mayTouch(c.beforeText, c.after)
	}
	if errs.CodeOf(err) == errs.PermissionDenied {
		return errs.From(err).With("document", c.path)
	}
	return err
}

// rootKeys lists the keys of a document.
func rootKeys(doc *dsul.Document) (keys []string) {
	for i := 0; i+1 < len(doc.Root.Content); i += 2 {
		keys = append(keys, doc.Root.Content[i].Value)
	}
	return keys
}

// result is a document as the edit has left it; otherwise what it was, when the edit changed nothing of it.
func (e *Edit) result(path string, otherwise *Stored) Stored {
	for _, c := range e.changes {
		if c.path == path && c.after != nil {
			return Stored{Document: c.stored, Workspace: e.Workspace, Parsed: c.after}
		}
	}
	return *otherwise
}

// former is the stored document that a change goes on with, also under another path.
func (e *Edit) former(c *change) *store.Document {
	if c.before != nil || c.renamed == "" {
		return c.before
	}
	for _, other := range e.changes {
		if other.path == c.renamed {
			return other.before
		}
	}
	return nil
}

// revision is what the history keeps of the edit.
func (e *Edit) revision() store.Revision {
	w := e.Workspace
	reason := e.purpose.Reason
	if reason == "" {
		reason = Edited
	}
	v := store.Revision{Revision: w.Revision, Reason: reason, Note: e.purpose.Note, CreatedAt: w.UpdatedAt, CreatedBy: w.UpdatedBy}
	for _, c := range e.changes {
		noted := store.Change{Path: c.path}
		if c.before != nil {
			noted.BeforeHash, noted.BeforeExt = c.before.Hash, c.before.Ext
		}
		if c.after != nil {
			noted.AfterHash, noted.AfterExt = c.stored.Hash, c.afterExt
		}
		v.Changes = append(v.Changes, noted)
	}
	return v
}

// secure makes a changed security document the rules of the workspace; only for those who may manage them.
func (e *Edit) secure(ctx context.Context, c *change) error {
	if c.after == nil {
		return errs.New(errs.PermissionDenied, "The security of a workspace cannot be deleted.")
	}
	if err := e.Visit.Check(access.ActionManageSecurity, access.ActionManagePermissions); err != nil {
		return err
	}
	before, err := access.LoadSecurity(ctx, e.Tx, e.Workspace.ID)
	if err != nil {
		return err
	}
	saved, err := e.d.Access.SaveSecurity(ctx, e.Tx, access.SecurityChange{
		WorkspaceID: e.Workspace.ID, Document: c.after.Text, Workspace: door.FieldsOf(e.Workspace),
	})
	if _, refused := errors.AsType[*errs.Error](err); refused && sqldb.KindOf(err) == sqldb.KindOther {
		return &SecurityError{err}
	}
	if err != nil {
		return err
	}
	return e.d.audit(ctx, e.Tx, e.Workspace.ID, SecurityUpdated(e.Workspace.ID, before.Security, saved.Security))
}

// SecurityError is why the roles and rules of an edit cannot be those of the workspace: they would lock somebody out, or
// give somebody more than the caller has.
type SecurityError struct{ cause error }

// Error implements error.
func (r *SecurityError) Error() string { return r.cause.Error() }

// Unwrap gives the error to show.
func (r *SecurityError) Unwrap() error { return r.cause }

// taken says that a slug is already used when that is why a write failed.
func taken(err error, slug string) error {
	if sqldb.IsUnique(err) {
		return errs.Newf(errs.AlreadyExists, "The slug %q is already used; choose another one.", slug).With("slug", slug)
	}
	return err
}
