package app

import (
	"context"

	automation "atelier/internal/automation/service"
	"atelier/internal/readiness"
)

func buildRuntime(ctx context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	if _, err := s.keys(ctx); err != nil { // it keeps them in step with the gateway
		return err
	}
	checker := s.checker(
		readiness.Module{Name: "cache", Driver: p.sessions.Driver(), Check: p.sessions.Ping},
		readiness.Module{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		readiness.Module{Name: "permissions", Driver: p.db.Driver(), Check: p.db.Ping},
		readiness.Module{Name: "dsul", Driver: p.blobs.Driver(), Check: p.blobs.Ping},
		s.gatewayModule(),
	)
	service := automation.New(automation.Deps{
		Log: opts.Log, Clock: opts.Clock, DB: p.db, Checker: checker, MaxBody: int64(opts.Config.RequestMaxSize),
	})
	s.add("runtime", service.API.Handler(), checker)
	return nil
}
