// Package definitions keeps the documents that a workspace is made of. Every edit is one transaction: the documents, the
// revision, the history and the events change together or not at all, and only while nobody else holds the write lock.
package definitions

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// Definitions is the use cases of documents.
type Definitions struct {
	DB     *sqldb.DB
	Bus    bus.Log
	Clock  clock.Clock
	IDs    ident.Source
	Access *access.Enforcer
	Door   *door.Door
	// EventMaxLen is the largest event, in characters; what does not fit is left out of it.
	EventMaxLen int
	// LockTimeout is when a write lock expires.
	LockTimeout time.Duration
	// References are what the linter knows beyond the documents; nil when there are none.
	References References
	// HistoryAge is how long edits can be looked up and undone.
	HistoryAge time.Duration
	// Platform is what the operator has configured for all workspaces.
	Platform repositories.Platform
	// Settle looks after the repositories in an index that is edited; nil when nobody does.
	Settle Settle
	// Undone changes with the undoing of an edit, such as what was in common with a repository; nil when nothing does.
	Undone func(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, revision int64) error

	linting turn
}

// service is how events name this service.
const service = "workspaces"

// Stored is a document that was read.
type Stored struct {
	store.Document

	Workspace workspaces.Workspace
	Parsed    *dsul.Document
}

// Slug is the document's slug; empty for the index and the security.
func (s Stored) Slug() string { return s.Parsed.Slug }

// Now is the time as it is stored, so that an answer shows what a later read will show.
func (d *Definitions) Now() time.Time { return sqldb.Time(sqldb.Millis(d.Clock.Now())) }

// Author names the caller as whoever changed something: a user by the id, a key by its own.
func Author(ctx context.Context) string {
	caller := access.From(ctx)
	if caller.UserID != "" {
		return caller.UserID
	}
	return caller.Key()
}

// Read gives a document that the caller may read.
func (d *Definitions) Read(ctx context.Context, ref string, kind dsul.Kind, slug string) (Stored, error) {
	v, err := d.Door.Visit(ctx, d.DB, ref)
	if err != nil {
		return Stored{}, err
	}
	if kind != dsul.Page {
		if err := v.Check(access.ActionRead); err != nil {
			return Stored{}, err
		}
	}
	stored, err := d.load(ctx, d.DB, v.Workspace, dsul.Path(kind, slug))
	if kind != dsul.Page {
		return stored, err
	}
	return stored, pageRefusal(v, stored, err)
}

// pageRefusal decides about a page that was looked for: a caller without any right in the workspace must not learn whether
// it exists.
func pageRefusal(v *door.Visit, page Stored, err error) error {
	if err == nil {
		return v.CheckObject(access.ActionRead, access.SubjectPages, PageFields(v.Ability, page.Document))
	}
	if hidden := v.CheckObject(access.ActionRead, access.SubjectPages, nil); hidden != nil {
		return hidden
	}
	return err
}

// Index reads the index of a workspace, for a service on its behalf: no caller is checked.
func (d *Definitions) Index(ctx context.Context, r sqldb.Reader, w workspaces.Workspace) (*dsul.Document, error) {
	stored, err := d.load(ctx, r, w, string(dsul.Index))
	return stored.Parsed, err
}

// load reads and parses a document of a workspace; resource_not_found when there is none.
func (d *Definitions) load(ctx context.Context, r sqldb.Reader, w workspaces.Workspace, path string) (Stored, error) {
	found, err := store.GetDocument(ctx, r, w.ID, path)
	if sqldb.IsNotFound(err) {
		return Stored{}, missing(path)
	}
	if err != nil {
		return Stored{}, err
	}
	parsed, _, err := d.parse(ctx, r, w.ID, found)
	return Stored{Document: found, Workspace: w, Parsed: parsed}, err
}

// parse reads the text of a document and parses it.
func (d *Definitions) parse(ctx context.Context, r sqldb.Reader, owner string, found store.Document) (*dsul.Document, []byte, error) {
	text, err := store.Text(ctx, r, owner, found.Hash)
	if err != nil {
		return nil, nil, errs.Wrap(err, "read the text of a document")
	}
	kind, slug, _ := dsul.SplitPath(found.Path)
	parsed, problems := dsul.Parse(kind, slug, text)
	if parsed == nil || parsed.Root == nil {
		return nil, nil, errs.Newf(errs.Internal, "The document %s cannot be read any more. Quote the correlation id when you report it.", found.Path).Because(problems.Err())
	}
	return parsed, text, nil
}

// missing says that there is no such document.
func missing(path string) error {
	kind, slug, _ := dsul.SplitPath(path)
	return errs.Missing(string(kind), slug)
}
