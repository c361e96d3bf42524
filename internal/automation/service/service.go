// Package service puts the runtime service together: the process role that runs automations. It answers for its modules;
// it has no public operation of its own yet.
package service

import (
	"log/slog"

	"atelier/internal/clock"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

// Deps is what the service needs.
type Deps struct {
	Log     *slog.Logger
	Clock   clock.Clock
	DB      *sqldb.DB
	Checker *readiness.Checker
	MaxBody int64
}

// Service is the running service.
type Service struct{ API *restapi.API }

// New puts the service together.
func New(deps Deps) *Service {
	api := restapi.New(restapi.Config{Service: "runtime", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	readiness.Register(api, "runtime", deps.Checker)
	return &Service{API: api}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }
