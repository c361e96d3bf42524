// Package service puts the workspaces service together.
package service

import (
	"context"
	"log/slog"

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
	MaxBody int64
}

// Service is the running service.
type Service struct {
	API    *restapi.API
	engine *engine.Engine
}

// Migrations are the service's tables.
func Migrations() sqldb.Migrations { return store.Migrations() }

// New puts the service together.
func New(deps Deps) *Service {
	e := &engine.Engine{DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs}
	api := restapi.New(restapi.Config{Service: "workspaces", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	rest.RegisterWorkspaces(api, e, deps.Cursors)
	readiness.Register(api, "workspaces", deps.Checker)
	return &Service{API: api, engine: e}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }

// Prepare makes what every installation has: the platform workspace.
func (s *Service) Prepare(ctx context.Context) error { return s.engine.EnsurePlatform(ctx) }
