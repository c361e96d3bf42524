package app

import (
	"context"

	"atelier/internal/config"
	"atelier/internal/gateway"
	"atelier/internal/lifecycle"
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
		EventMaxLen: opts.Config.EventMaxLen, LockTimeout: opts.Config.WriteLockTimeout, BinAge: opts.Config.BinAge, HistoryAge: opts.Config.HistoryAge,
		Vault: p.vault, Environ: opts.Environ, Blobs: p.blobs, Links: p.links, Uploads: uploads(opts.Config), Referenced: gateway.UsesContent,
	})
	if err := service.Prepare(ctx, p.embedded() && p.db.Driver() == "sqlite"); err != nil {
		return err
	}
	s.app.group.Add(lifecycle.Worker("tidying of workspaces", service.Tidy), lifecycle.Worker("sweep of files", service.KeepFiles))
	s.add("workspaces", service.API.Handler(), checker)
	return nil
}

// uploads are the settings of files.
func uploads(cfg config.Config) workspaces.Uploads {
	return workspaces.Uploads{
		MaxSize: int64(cfg.UploadsMaxSize), Private: cfg.UploadsVisibility == "private", Allowed: cfg.UploadsAllowed, Forbidden: cfg.UploadsForbidden,
		URL: cfg.FilesURL(),
	}
}
