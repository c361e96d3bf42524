// Package service puts the workspaces service together.
package service

import (
	"context"
	"log/slog"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/rest"
	"atelier/internal/workspaces/internal/store"
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
}

// Directory knows the accounts of the installation, which another service keeps.
type Directory = engine.Directory

// Service is the running service.
type Service struct {
	API    *restapi.API
	engine *engine.Engine
}

// Migrations are the service's tables.
func Migrations() sqldb.Migrations { return store.Migrations() }

// New puts the service together.
func New(deps Deps) *Service {
	e := &engine.Engine{DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Access: deps.Access, Keys: deps.Keys, People: deps.People}
	api := restapi.New(restapi.Config{Service: "workspaces", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	rest.RegisterWorkspaces(api, e, deps.Cursors)
	rest.RegisterSecurity(api, e)
	rest.RegisterExplain(api, e)
	rest.RegisterAPIKeys(api, e)
	rest.RegisterPermissions(api, e)
	readiness.Register(api, "workspaces", deps.Checker)
	return &Service{API: api, engine: e}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }

// Resolve gives the id of the workspace that a caller names by its id, or by slug: and its slug. What names no workspace
// comes back as it is, and no workspace has that id. Other services ask it before they check what the caller may do.
func Resolve(ctx context.Context, r sqldb.Reader, ref string) (string, error) {
	return store.Resolve(ctx, r, ref)
}

// Prepare makes what every installation has: the platform workspace.
func (s *Service) Prepare(ctx context.Context) error { return s.engine.EnsurePlatform(ctx) }
