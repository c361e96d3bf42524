package app

import (
	"context"

	events "atelier/internal/events/service"
	"atelier/internal/readiness"
	workspaces "atelier/internal/workspaces/service"
)

func buildEvents(_ context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	checker := s.checker(
		readiness.Module{Name: "cache", Driver: p.sessions.Driver(), Check: p.sessions.Ping},
		readiness.Module{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		readiness.Module{Name: "permissions", Driver: p.db.Driver(), Check: p.db.Ping},
		s.gatewayModule(),
	)
	service := events.New(events.Deps{
		Log: opts.Log, Clock: opts.Clock, DB: p.db, Bus: p.bus, Cursors: p.cursors, Checker: checker,
		Access: p.access, Resolve: workspaces.Resolve, MaxBody: int64(opts.Config.RequestMaxSize), MaxLen: opts.Config.EventMaxLen,
	})
	s.add("events", service.API.Handler(), checker)
	return nil
}
