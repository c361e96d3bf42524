package service

import (
	"context"
	"time"

	"atelier/internal/gitcmd"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/secrets"
	"atelier/internal/workspaces/internal/versioning"
)

// Versioning is what pushes and pulls need.
type Versioning struct {
	// Git is the git program; nil when there is none that can be used.
	Git *gitcmd.Git
	// Network gives the addresses that may be connected to.
	Network versioning.Network
	// Folder is where clones are kept; they can be removed at any time.
	Folder string
	// MaxPush is the largest push of a git client, in bytes; 100 MB when it is zero.
	MaxPush int64
	// Signer signs commits; nil when they are not signed.
	Signer *gitcmd.Signer
	// WatchEvery is how often repositories are compared with their workspaces; zero for never.
	WatchEvery time.Duration
}

func newVersioning(deps Deps, d *definitions.Definitions, a *archives.Archives, kept *secrets.Secrets) *versioning.Versioning {
	given := deps.Versioning
	v := &versioning.Versioning{
		DB: deps.DB, Log: deps.Log, Clock: deps.Clock, Door: d.Door, Definitions: d, Archives: a, Secrets: kept, People: deps.People,
		Git: given.Git, Network: given.Network, Platform: deps.Platform, Folder: given.Folder, Signer: given.Signer, WatchEvery: given.WatchEvery,
	}
	d.Undone = v.Undone
	return v
}

// Watch compares workspaces with their repositories until the context ends.
func (s *Service) Watch(ctx context.Context) error { return s.versioning.KeepWatch(ctx) }

// WatchOnce is one round of what Watch does.
func (s *Service) WatchOnce(ctx context.Context) error { return s.versioning.Watch(ctx) }

// Sync finishes pushes that were interrupted until the context ends; it then ends what is under way.
func (s *Service) Sync(ctx context.Context) error { return s.versioning.Run(ctx) }

// RecoverPushes is one round of finding out what became of pushes whose process is gone.
func (s *Service) RecoverPushes(ctx context.Context) error { return s.versioning.Recover(ctx) }
