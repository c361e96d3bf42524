// Package service puts the events service together.
package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/events/internal/cleanup"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/rest"
	"atelier/internal/events/internal/webhooks"
	"atelier/internal/ident"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
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
	// Resolve gives the id of the workspace that a caller names, by its id or by slug: and its slug.
	Resolve func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	MaxBody int64
	// MaxLen is the largest event, in characters.
	MaxLen int
	// SearchTimeout is how long a search may take; zero does not limit.
	SearchTimeout time.Duration
	// Known tells which of some workspaces there are, the bin included.
	Known func(ctx context.Context, r sqldb.Reader, ids []string) ([]string, error)
	// Cleanup says which events are removed, and when.
	Cleanup Cleanup
	// Index is a search engine that events are searched with; nil searches the log itself.
	Index *Index
	// Marks say how rare values are found in the log.
	Marks Marks
	// Webhooks is what the delivery of events needs.
	Webhooks Webhooks
	// SocketIO is what clients of socket.io need.
	SocketIO SocketIO
}

// Service is the running service.
type Service struct {
	API *restapi.API
	hub *feed.Hub
	io  *rest.SocketIO

	deps     Deps
	cleanup  *cleanup.Cleanup
	webhooks *webhooks.Webhooks
}

// StopFeeds ends the live feeds and waits until everybody who listens has left.
func (s *Service) StopFeeds(ctx context.Context) error {
	return errors.Join(s.io.Close(ctx), s.hub.Close(ctx))
}

// Listening tells how many connections listen at this process, by kind, to how many subscriptions, in how many workspaces.
func (s *Service) Listening() feed.Figures { return s.hub.Figures() }

// Show lets the other instances know who listens at this one, until ctx ends. A process that is alone has no use for it.
func (s *Service) Show(ctx context.Context) error { return s.hub.Show(ctx) }

// New puts the service together.
func New(deps Deps) *Service {
	e := &engine.Engine{DB: deps.DB, Index: deps.index(), Bus: deps.Bus, Access: deps.Access, Resolve: deps.Resolve, MaxLen: deps.MaxLen, SearchTimeout: deps.SearchTimeout}
	api := restapi.New(restapi.Config{Service: "events", Log: deps.Log, Clock: deps.Clock, DB: deps.DB, MaxBody: deps.MaxBody})
	hub := feed.NewHub(feed.Deps{Log: deps.Log, Clock: deps.Clock, IDs: deps.IDs, DB: deps.DB, Bus: deps.Bus})
	live := &rest.Live{Engine: e, Hub: hub, Clock: deps.Clock, IDs: deps.IDs, Errors: api.Errors()}
	rest.RegisterEvents(api, e, deps.Cursors, live)
	sockets := newSocketIO(api, live, deps)
	rest.RegisterSearch(api, e)
	rest.RegisterUsage(api, e)
	hooks := newWebhooks(deps)
	rest.RegisterSubscriptions(api, hooks, deps.Cursors)
	cleaner := newCleanup(deps)
	rest.RegisterCleanup(api, cleaner, deps.DB, deps.IDs)
	rest.RegisterSystem(api, hub, deps.Index)
	readiness.Register(api, "events", deps.Checker)
	return &Service{API: api, hub: hub, io: sockets, deps: deps, cleanup: cleaner, webhooks: hooks}
}

// Describe returns the service's API without a service, for the OpenAPI document.
func Describe() *restapi.API { return New(Deps{Log: slog.New(slog.DiscardHandler)}).API }
