// Package service puts the runtime service together: the process role that runs automations.
package service

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"atelier/internal/access"
	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/limits"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/automation/internal/recorder"
	"atelier/internal/automation/internal/rest"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/automation/internal/signals"
	"atelier/internal/automation/internal/tokens"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/egress"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv"
	"atelier/internal/lifecycle"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Definitions are workspaces as they run, which the workspaces service keeps in the database.
type Definitions interface {
	model.Source
	runs.Workspaces
	contexts.Config
}

// Deps is what the service needs.
type Deps struct {
	Config  config.Config
	Log     *slog.Logger
	Clock   clock.Clock
	IDs     ident.Source
	DB      *sqldb.DB
	Bus     bus.Log
	Access  *access.Enforcer
	Keys    *keyring.Ring
	Vault   *vault.Vault
	Limiter kv.Limiter
	Network *egress.Guard
	// Platform reaches the platform's own API, whatever its address.
	Platform http.RoundTripper
	Checker  *readiness.Checker
	// Tracer makes spans; nil makes none.
	Tracer trace.Tracer
	// People knows the accounts of the installation.
	People contexts.People
	// Definitions are the workspaces; Resolve gives the id of one that a caller names, Known those that there are.
	Definitions Definitions
	Resolve     func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	Known       func(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error)
	// Environ gives the environment variables that begin with a prefix, by the rest of their names.
	Environ func(prefix string) map[string]string
	// Alone tells that no other process uses the database.
	Alone bool
	// Worker is the program that runs custom code; without one there is none.
	Worker Worker
}

// Worker is a program that runs custom code.
type Worker = code.Program

// ThisProgram is the program that runs, as a worker.
func ThisProgram() Worker { return code.ThisProgram() }

// Service is the running service.
type Service struct {
	API *restapi.API

	deps        Deps
	machine     *machine.Machine
	models      *model.Models
	contexts    *contexts.Store
	limits      *limits.Limits
	secrets     *secrets.Secrets
	collections *collections.Collections
	code        *code.Code
	fetch       *fetch.Client
	tokens      *tokens.Mint
	waits       *waits.Store
	signals     *signals.Signals
	recorder    *recorder.Recorder
	turns       *turns.Turns
	runs        *runs.Runs
}

// Migrations are the service's tables.
func Migrations() []sqldb.Migrations {
	return []sqldb.Migrations{
		contexts.Migrations(), limits.Migrations(), runs.Migrations(), secrets.Migrations(), collections.Migrations(), code.Migrations(),
	}
}

// New puts the service together.
func New(deps Deps) (*Service, error) {
	s := &Service{deps: deps}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.API = describe(deps)
	readiness.Register(s.API, "runtime", deps.Checker)
	rest.Register(s.API, rest.Deps{
		DB: deps.DB, Access: deps.Access, Resolve: deps.Resolve, Models: s.models, Engine: s.machine, Runs: s.runs, Recorder: s.recorder, Code: s.code,
		Limits: requestLimits(deps.Config), TestLimits: testLimits(), Answers: answers(deps),
	})
	return s, nil
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API {
	api := describe(Deps{Log: slog.New(slog.DiscardHandler)})
	readiness.Register(api, "runtime", nil)
	rest.Register(api, rest.Deps{})
	return api
}

func describe(deps Deps) *restapi.API {
	return restapi.New(restapi.Config{Service: "runtime", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: int64(deps.Config.RequestMaxSize)})
}

// Parts are the workers of the service, in the order in which they start. What records events ends last.
func (s *Service) Parts() []lifecycle.Part {
	return []lifecycle.Part{
		lifecycle.Worker("events of runs", s.recorder.Run),
		{Name: "custom code", Start: s.code.Start, Stop: s.code.Stop},
		{Name: "requests of automations", Stop: func(context.Context) error { s.fetch.Close(); return nil }},
		lifecycle.Worker("waits of runs", s.waits.Run),
		lifecycle.Worker("runs of automations", s.runs.Run),
		lifecycle.Worker("tidying of contexts", s.contexts.Tidy),
		lifecycle.Worker("tidying of limits", s.limits.Tidy),
		lifecycle.Worker("tidying of runtime data", s.tidy),
	}
}

// every calls something now and then until ctx ends. What fails is tried again at the next time.
func (s *Service) every(ctx context.Context, period time.Duration, do func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "tidying of runtime data failed", "error", err)
		}
		timer := s.deps.Clock.NewTimer(period)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}
