// Package service puts the workspaces service together.
package service

import (
	"context"
	"log/slog"
	"time"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/apps"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/bulk"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/files"
	"atelier/internal/workspaces/internal/pages"
	"atelier/internal/workspaces/internal/rest"
	"atelier/internal/workspaces/internal/secrets"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// Deps is what the service needs.
type Deps struct {
	Log     *slog.Logger
	Clock   clock.Clock
	IDs     ident.Source
	DB      *sqldb.DB
	Bus     bus.Log
	Cursors *restapi.Cursors
	Checker *readiness.Checker
	Access  *access.Enforcer
	Keys    *access.Keys
	People  Directory
	MaxBody int64
	// EventMaxLen is the largest event, in characters.
	EventMaxLen int
	// LockTimeout is when a write lock expires, BinAge how long a deleted workspace can be restored, HistoryAge how long
	// edits can be undone.
	LockTimeout, BinAge, HistoryAge time.Duration
	// Vault seals the secrets of workspaces; Environ gives the environment variables that begin with a prefix, by the rest of
	// their names.
	Vault   *vault.Vault
	Environ func(prefix string) map[string]string
	// Platform is what the operator has configured for all workspaces.
	Platform Platform
	// Versioning is what pushes and pulls need.
	Versioning Versioning
	// Blobs keep the bytes of files, Links makes temporary links to them.
	Blobs   blob.Store
	Links   *FileLinks
	Uploads Uploads
	// Referenced tells whether anything but a file of a workspace uses a content of Blobs. Whoever keeps contents there is
	// asked by it: what nobody uses is removed.
	Referenced func(ctx context.Context, r sqldb.Reader, hash string) (bool, error)
}

// Directory knows the accounts of the installation, which another service keeps.
type Directory = engine.Directory

// Service is the running service.
type Service struct {
	API    *restapi.API
	engine *engine.Engine
	files  *files.Files
	log    *slog.Logger

	versioning *versioning.Versioning
	bulk       *bulk.Bulk
}

// Migrations are the service's tables.
func Migrations() sqldb.Migrations { return store.Migrations() }

// New puts the service together.
func New(deps Deps) *Service {
	entrance := &door.Door{Access: deps.Access}
	d := &definitions.Definitions{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Access: deps.Access, Door: entrance,
		EventMaxLen: deps.EventMaxLen, LockTimeout: deps.LockTimeout, HistoryAge: deps.HistoryAge, Platform: deps.Platform,
	}
	e := &engine.Engine{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Access: deps.Access, Door: entrance, Definitions: d,
		Keys: deps.Keys, People: deps.People, BinAge: deps.BinAge,
	}
	api := restapi.New(restapi.Config{Service: "workspaces", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	rest.RegisterWorkspaces(api, e, deps.Cursors)
	rest.RegisterDocuments(api, d, deps.Cursors)
	rest.RegisterSections(api, d)
	rest.RegisterHistory(api, d)
	rest.RegisterLocks(api, d)
	rest.RegisterLint(api, d)
	rest.RegisterBin(api, e)
	a := &archives.Archives{DB: deps.DB, Clock: deps.Clock, Engine: e, Definitions: d, Limits: archive.DefaultLimits()}
	rest.RegisterArchives(api, a)
	rest.RegisterDiff(api, d, a)
	rest.RegisterSecurity(api, e)
	rest.RegisterExplain(api, e)
	rest.RegisterAPIKeys(api, e)
	rest.RegisterPermissions(api, e)
	kept := &secrets.Secrets{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Door: entrance, Vault: deps.Vault, Environ: deps.Environ,
	}
	rest.RegisterSecrets(api, kept)
	d.Settle = keeper{platform: deps.Platform, secrets: kept}.settle
	rest.RegisterRepositories(api, d)
	registry := &apps.Apps{DB: deps.DB, Access: deps.Access, Definitions: d}
	d.References, a.Apps = references{secrets: kept, Apps: registry}, publisher{registry}
	e.Purges = append(e.Purges, registry.Purge)
	rest.RegisterApps(api, registry, deps.Cursors)
	rest.RegisterPages(api, &pages.Pages{DB: deps.DB, Access: deps.Access, Definitions: d, Apps: registry})
	uploaded := newFiles(deps)
	uploaded.Door = entrance
	e.Purges = append(e.Purges, uploaded.Purge, secrets.Purge)
	rest.RegisterFiles(api, uploaded, deps.Cursors)
	synced := newVersioning(deps, d, a, kept)
	rest.RegisterVersions(api, e, synced)
	rest.RegisterConflicts(api, e, synced)
	many := newBulk(deps, e, synced)
	rest.RegisterBulk(api, e, synced, many)
	cloned := newGitServer(deps, d, a, synced)
	e.Purges = append(e.Purges, cloned.Purge)
	rest.RegisterGit(api, cloned)
	readiness.Register(api, "workspaces", deps.Checker)
	return &Service{API: api, engine: e, files: uploaded, log: deps.Log, versioning: synced, bulk: many}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }

// Resolve gives the id of the workspace that a caller names by its id, or by slug: and its slug. What names no workspace
// comes back as it is, and no workspace has that id. Other services ask it before they check what the caller may do.
func Resolve(ctx context.Context, r sqldb.Reader, ref string) (string, error) {
	return store.Resolve(ctx, r, ref)
}

// Known tells which of some workspaces there are, those in the bin included.
func Known(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error) {
	return store.Known(ctx, r, ids)
}

// Prepare makes what every installation has, the platform workspace, and gives workspaces of earlier releases what they
// lack. With alone this process has the database for itself: what was interrupted when the last one ended is rolled back.
func (s *Service) Prepare(ctx context.Context, alone bool) error {
	if err := s.engine.EnsurePlatform(ctx); err != nil {
		return err
	}
	if err := s.engine.Definitions.Backfill(ctx); err != nil {
		return err
	}
	if err := s.engine.Definitions.Recover(ctx, alone); err != nil {
		return err
	}
	if alone { // whether a push arrived is found out while the service runs: a repository that does not answer must not delay the start
		return s.versioning.Orphan(ctx)
	}
	return nil
}

// Tidy keeps the service in order until the context ends: it rolls back operations whose process is gone, empties the bin
// and forgets old history.
func (s *Service) Tidy(ctx context.Context) error { return s.engine.Tidy(ctx, s.log) }

// TidyOnce is one round of what Tidy does.
func (s *Service) TidyOnce(ctx context.Context) error { return s.engine.TidyOnce(ctx) }
