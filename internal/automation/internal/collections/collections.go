// Package collections keeps the records of workspaces: the module collections of automations, and the built-in app Collection. A
// collection has declared fields, indexes and uniques. What matches a query is decided by package query on the record itself; indexes
// only tell which records are worth a look, so both databases give the same answers.
//
// Writers of one collection follow each other: each takes the row of the collection before anything else, and so sees what the one
// before it wrote. Readers never wait.
package collections

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the tables of collections.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "collections", Files: steps}
}

// Names of failures that only collections have.
const (
	// Duplicate is a record with values that must be unique and that another record has.
	Duplicate = "DuplicateRecordError"
	// TooLarge is a query or change that would take more work than one may.
	TooLarge = "CollectionQueryTooLargeError"
)

// Deps are what collections need.
type Deps struct {
	DB    *sqldb.DB
	Clock clock.Clock
	IDs   ident.Source
	// Announce tells, in the transaction, that the definition of a collection has changed.
	Announce func(ctx context.Context, tx *sqldb.Tx, change Announcement) error
	Limits   Limits
}

// Announcement is what the event workspaces.collections.updated says.
type Announcement struct {
	// Namespace is the workspace, and the app instance when the collection belongs to one; Instance is the full slug of that.
	Namespace, WorkspaceID, AppSlug, Instance string
	// Collection is its name; OldCollection is the one it had, when it was renamed.
	Collection, OldCollection string
	// Schema is all of the definition; the others are its parts.
	Schema, Properties *value.Object
	Indexes, Uniques   []any
}

// Limits bound what workspaces may keep and what one call may do.
type Limits struct {
	// Collections, Records and Bytes are what a workspace may have, in all its collections.
	Collections, Records, Bytes int64
	// Record is how many bytes one record may take.
	Record int
	// Scan is how many records a query may look at.
	Scan int
	// Page is how many records a query may give; Result how many bytes these may take.
	Page, Result int
	// Batch is how many records one call may write; Changes how many a query may change or delete.
	Batch, Changes int
}

// DefaultLimits are those of a platform whose operator sets none.
func DefaultLimits() Limits {
	return Limits{
		Collections: 500, Records: 1_000_000, Bytes: 2 << 30, Record: 1 << 20,
		Scan: 200_000, Page: 10_000, Result: 32 << 20, Batch: 5_000, Changes: 50_000,
	}
}

// Collections are the use cases of collections.
type Collections struct{ deps Deps }

// New gives the use cases.
func New(deps Deps) *Collections { return &Collections{deps: deps} }

// Place is where collections are found by their names: a workspace, or an app instance in it.
type Place struct {
	WorkspaceID string
	// Instance is the full slug of the app instance; empty for the workspace itself. AppSlug is its app.
	Instance, AppSlug string
}

// namespace is how events name the place.
func (p Place) namespace() string {
	if p.Instance == "" {
		return p.WorkspaceID
	}
	return p.WorkspaceID + "/" + p.Instance
}

// PurgeWorkspace deletes everything a workspace has.
func (c *Collections) PurgeWorkspace(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	for _, statement := range []string{
		`DELETE FROM collection_terms WHERE collection_id IN (SELECT id FROM collections WHERE workspace_id = $1)`,
		`DELETE FROM collection_uniques WHERE collection_id IN (SELECT id FROM collections WHERE workspace_id = $1)`,
		`DELETE FROM collection_records WHERE collection_id IN (SELECT id FROM collections WHERE workspace_id = $1)`,
		`DELETE FROM collections WHERE workspace_id = $1`,
		`DELETE FROM collection_usage WHERE workspace_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, workspaceID); err != nil {
			return err
		}
	}
	return nil
}

// author names the caller as whoever wrote a record: a user by the id, a key by its own, nobody by nothing.
func author(ctx context.Context) string {
	caller := access.From(ctx)
	switch {
	case caller.UserID != "":
		return caller.UserID
	case caller.Kind == access.Nobody:
		return ""
	default:
		return caller.Key()
	}
}

// now is the time as it is stored.
func (c *Collections) now() int64 { return sqldb.Millis(c.deps.Clock.Now()) }

func invalid(format string, args ...any) error {
	return machine.Fail(machine.InvalidArguments, fmt.Sprintf(format, args...))
}

func misconfigured(format string, args ...any) error {
	return machine.Fail(machine.Configuration, fmt.Sprintf(format, args...))
}

func tooLarge(format string, args ...any) error {
	return machine.Fail(TooLarge, fmt.Sprintf(format, args...))
}
