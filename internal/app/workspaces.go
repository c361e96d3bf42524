package app

import (
	"context"

	"atelier/internal/gateway"
	"atelier/internal/readiness"
	workspaces "atelier/internal/workspaces/service"
)

func buildWorkspaces(ctx context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	checker := s.checker(
		readiness.Module{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		readiness.Module{Name: "permissions", Driver: p.db.Driver(), Check: p.db.Ping},
		readiness.Module{Name: "dsul", Driver: p.blobs.Driver(), Check: p.blobs.Ping},
		p.gitModule(),
		s.gatewayModule(),
	)
	service := workspaces.New(workspaces.Deps{
		Log: opts.Log, Clock: opts.Clock, IDs: opts.IDs, DB: p.db, Bus: p.bus, Cursors: p.cursors, Checker: checker,
		Access: p.access, Keys: p.apiKeys, People: gateway.NewDirectory(opts.Config), MaxBody: int64(opts.Config.RequestMaxSize),
	})
	if err := service.Prepare(ctx); err != nil {
		return err
	}
	s.add("workspaces", service.API.Handler(), checker)
	return nil
}
