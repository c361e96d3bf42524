package app

import (
	"context"
	"fmt"
	"path/filepath"

	"atelier/internal/config"
	"atelier/internal/gateway"
	"atelier/internal/gitcmd"
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
	platform, err := workspaces.ReadPlatform(opts.Environ, workspaces.PlatformSettings{
		Groups: opts.Config.WorkspaceGroups, StartupGroups: opts.Config.StartupGroups, StartupRepository: opts.Config.StartupRepository,
	})
	if err != nil {
		return err
	}
	versioning, err := s.app.versioning()
	if err != nil {
		return err
	}
	clk, err := p.sharedClock(ctx)
	if err != nil {
		return err
	}
	service := workspaces.New(workspaces.Deps{
		Log: opts.Log, Clock: clk, IDs: opts.IDs, DB: p.db, Bus: p.bus, Cursors: p.cursors, Checker: checker,
		Access: p.access, Keys: p.apiKeys, People: gateway.NewDirectory(opts.Config), MaxBody: int64(opts.Config.RequestMaxSize),
		EventMaxLen: opts.Config.EventMaxLen, LockTimeout: opts.Config.WriteLockTimeout, BinAge: opts.Config.BinAge, HistoryAge: opts.Config.HistoryAge,
		Vault: p.vault, Environ: opts.Environ, Platform: platform, Versioning: versioning, Blobs: p.blobs, Links: p.links, Uploads: uploads(opts.Config), Referenced: gateway.UsesContent,
	})
	if err := service.Prepare(ctx, p.embedded() && p.db.Driver() == "sqlite"); err != nil {
		return err
	}
	s.app.group.Add(lifecycle.Worker("tidying of workspaces", service.Tidy), lifecycle.Worker("sweep of files", service.KeepFiles),
		lifecycle.Worker("repositories of workspaces", service.Sync), lifecycle.Worker("watch of repositories", service.Watch), lifecycle.Worker("bulk operations", service.Bulk))
	s.add("workspaces", service.API.Handler(), checker)
	return nil
}

// versioning is what pushes and pulls need.
func (a *App) versioning() (workspaces.Versioning, error) {
	cfg := a.opts.Config
	folder, err := filepath.Abs(cfg.GitDir()) // git runs elsewhere
	if err != nil {
		return workspaces.Versioning{}, err
	}
	given := workspaces.Versioning{Git: a.parts.git, Network: a.parts.egress, Folder: folder, WatchEvery: cfg.DriftInterval}
	if cfg.GitSigningKey == "" {
		return given, nil
	}
	if given.Signer, err = gitcmd.ParseSigner(cfg.GitSigningKey.Reveal()); err != nil {
		return given, fmt.Errorf("GIT_SIGNING_KEY: %w", err)
	}
	return given, nil
}

// uploads are the settings of files.
func uploads(cfg config.Config) workspaces.Uploads {
	return workspaces.Uploads{
		MaxSize: int64(cfg.UploadsMaxSize), Private: cfg.UploadsVisibility == "private", Allowed: cfg.UploadsAllowed, Forbidden: cfg.UploadsForbidden,
		URL: cfg.FilesURL(),
	}
}
