// Package bulk imports many workspaces from a repository of the platform, and pushes many to one. One bulk operation runs at a
// time in the whole cluster: it holds the write lock of the platform workspace. What it does is frozen before it does anything,
// and each workspace's outcome is kept as it is reached, so that whoever takes it over goes on where it was.
package bulk

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// The reasons of the locks that bulk operations hold, which are also their kinds.
const (
	Importing = "bulk_import_in_progress"
	Pushing   = "bulk_push_in_progress"
)

// Bulk is the use cases of bulk operations.
type Bulk struct {
	DB          *sqldb.DB
	Log         *slog.Logger
	Clock       clock.Clock
	IDs         ident.Source
	Door        *door.Door
	Engine      *engine.Engine
	Definitions *definitions.Definitions
	Versioning  *versioning.Versioning
	People      versioning.People
	Platform    repositories.Platform
	// EventMaxLen is the largest event, in characters; zero for no limit.
	EventMaxLen int
}

// Options say what is imported or pushed, and how.
type Options struct {
	// Kind is Importing or Pushing.
	Kind string `json:"kind"`
	// RepositoryID is a repository of the platform; the first one when empty.
	RepositoryID string `json:"repositoryId"`
	// Groups are those whose workspaces are meant. An import without any is one of everything.
	Groups []string `json:"groups"`
	// Force also pushes what was pushed already, Reimport also imports what was imported already.
	Force    bool `json:"force,omitempty"`
	Reimport bool `json:"reimport,omitempty"`
	// Name is that of the version that is pushed; made up when empty. Description is JSON.
	Name        string          `json:"name,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	// PlanID, when given, is the plan that it has to be.
	PlanID string `json:"planId,omitempty"`
}

func (o Options) operation() string {
	if o.Kind == Importing {
		return "bulkImport"
	}
	return "bulkPush"
}

// The categories and statuses of workspaces.
const (
	Candidate     = "candidate"
	MergeConflict = "mergeConflict"
	InProgress    = "inProgress"
	AlreadyPushed = "alreadyPushed"
	Pushed        = "pushed"
	Imported      = "imported"
	Skipped       = "skipped"
	Failed        = "error"
)

// ImportedApp is the app that a workspace publishes.
type ImportedApp struct {
	Slug        string `json:"slug" doc:"Its slug."`
	Name        string `json:"name,omitempty" doc:"What it is called."`
	Description string `json:"description,omitempty" doc:"What it is for."`
}

func appOf(info *archive.ImportInfo) *ImportedApp {
	if info == nil || info.App == nil {
		return nil
	}
	return &ImportedApp{Slug: info.App.Slug, Name: info.App.Name, Description: info.App.Description}
}

// item is a workspace as it was frozen.
type item struct {
	Slug        string `json:"slug"`
	WorkspaceID string `json:"workspaceId,omitempty"`
	Name        string `json:"name,omitempty"`
	// Version is the one that the repository has.
	Version string `json:"version,omitempty"`
	// Status is its category.
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Revision is that of its content, Lock the lock that it had.
	Revision int64 `json:"revision,omitempty"`
	// New tells that there is no such workspace yet; WorkspaceID is the one that it is to have.
	New bool         `json:"new,omitempty"`
	App *ImportedApp `json:"app,omitempty"`
	// Pulled is the version that the workspace has pulled last.
	Pulled string `json:"pulled,omitempty"`
	// Wrong is why it cannot be imported.
	Wrong *errs.Shown `json:"wrong,omitempty"`

	needs []string
}

// current tells that the version of an item is what its workspace has: an import skips it.
func (o Options) current(i item) bool {
	return o.Kind == Importing && !o.Reimport && i.Version != "" && i.Pulled == i.Version
}

// outcome is what came of a workspace.
type outcome struct {
	Slug        string       `json:"slug"`
	WorkspaceID string       `json:"workspaceId,omitempty"`
	Name        string       `json:"name,omitempty"`
	Version     string       `json:"version,omitempty"`
	Status      string       `json:"status"`
	Reason      string       `json:"reason,omitempty"`
	Errors      []errs.Shown `json:"errors,omitempty"`
	Created     bool         `json:"created,omitempty"`
	Imported    int          `json:"imported,omitempty"`
	Deleted     int          `json:"deleted,omitempty"`
	Duration    int64        `json:"duration"`
	App         *ImportedApp `json:"app,omitempty"`
}

// begun is the outcome of an item before anything came of it.
func (i item) begun() outcome {
	o := outcome{Slug: i.Slug, Name: i.Name, Version: i.Version, Status: i.Status, Reason: i.Reason, App: i.App}
	if !i.New {
		o.WorkspaceID = i.WorkspaceID
	}
	return o
}

// fail makes it the outcome of a failure.
func (o outcome) fail(err error) outcome {
	o.Status, o.Errors = Failed, []errs.Shown{errs.From(err).Show()}
	return o
}

// repository finds the repository that a bulk operation is about; resource_not_found when there is none.
func (b *Bulk) repository(id string) (repositories.Repository, error) {
	if id == "" && len(b.Platform.Repositories) > 0 {
		return b.Platform.Repositories[0], nil
	}
	if id == "" {
		return repositories.Repository{}, errs.New(errs.NotFound, "There is no repository of the platform; the operator can configure one.").
			With("subjectType", "repositories").With("availableRepositories", []string{})
	}
	return repositories.Find(b.Platform.Repositories, id)
}

// Is tells whether a repository is one of the platform.
func (b *Bulk) Is(repositoryID string) bool { return b.Platform.Has(repositoryID) }

// since is how many milliseconds have passed.
func (b *Bulk) since(t time.Time) int64 { return max(0, b.Clock.Now().Sub(t).Milliseconds()) }

// System is whoever acts when nobody asked: it may everything, and is no user.
func System() access.Principal { return access.Principal{Kind: "system", SuperAdmin: true} }

// acting is who works on a bulk operation that somebody else's process has begun.
func (b *Bulk) acting(ctx context.Context, row store.Bulk) (context.Context, error) {
	var who access.Principal
	if err := json.Unmarshal([]byte(row.Principal), &who); err != nil {
		return ctx, err
	}
	return b.stillMay(access.With(ctx, who))
}

// stillMay looks whether the account that acts is still there, and still one that may everything if it was.
func (b *Bulk) stillMay(ctx context.Context) (context.Context, error) {
	who := access.From(ctx)
	if who.UserID == "" {
		return ctx, nil
	}
	now, err := b.People.Principal(ctx, b.DB, who.UserID)
	if err != nil {
		return ctx, err
	}
	who.SuperAdmin = who.SuperAdmin && now.SuperAdmin
	return access.With(ctx, who), nil
}
