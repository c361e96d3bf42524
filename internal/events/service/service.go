// Package service puts the events service together.
package service

import (
	"context"
	"log/slog"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/rest"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

// Deps is what the service needs.
type Deps struct {
	Log     *slog.Logger
	Clock   clock.Clock
	DB      *sqldb.DB
	Bus     bus.Log
	Cursors *restapi.Cursors
	Checker *readiness.Checker
	Access  *access.Enforcer
	// Resolve gives the id of the workspace that a caller names, by its id or by slug: and its slug.
	Resolve func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	MaxBody int64
	// MaxLen is the largest event, in characters.
	MaxLen int
}

// Service is the running service.
type Service struct{ API *restapi.API }

// New puts the service together.
func New(deps Deps) *Service {
	e := &engine.Engine{DB: deps.DB, Bus: deps.Bus, Access: deps.Access, Resolve: deps.Resolve, MaxLen: deps.MaxLen}
	api := restapi.New(restapi.Config{Service: "events", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	rest.RegisterEvents(api, e, deps.Cursors)
	readiness.Register(api, "events", deps.Checker)
	return &Service{API: api}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }
