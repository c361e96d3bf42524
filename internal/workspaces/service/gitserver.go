package service

import (
	"cmp"
	"context"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/gitserver"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// maxPush is the largest push of a git client when nothing else is said.
const maxPush = 100_000_000

func newGitServer(deps Deps, d *definitions.Definitions, a *archives.Archives, v *versioning.Versioning) *gitserver.Server {
	given := deps.Versioning
	return &gitserver.Server{
		DB: deps.DB, Log: deps.Log, Clock: deps.Clock, Door: d.Door, Definitions: d, Archives: a, Blobs: deps.Blobs,
		Git: given.Git, Signer: given.Signer, Person: v.Person, Folder: given.Folder, MaxPush: cmp.Or(given.MaxPush, maxPush),
	}
}

// referenced tells whether anything but a file uses a content of the blob store: the history of a workspace, or whoever else
// keeps contents there.
func referenced(others func(ctx context.Context, r sqldb.Reader, hash string) (bool, error)) func(ctx context.Context, r sqldb.Reader, hash string) (bool, error) {
	return func(ctx context.Context, r sqldb.Reader, hash string) (bool, error) {
		if used, err := store.UsesPack(ctx, r, hash); err != nil || used || others == nil {
			return used, err
		}
		return others(ctx, r, hash)
	}
}
