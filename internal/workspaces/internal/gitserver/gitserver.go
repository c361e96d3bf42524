// Package gitserver lets git clients clone, pull and push workspaces. The branch main of a workspace is its documents as
// they leave; whenever they have changed, one more commit says so. The database says where the branch is and the blob store
// keeps its packs; a repository on the disk is only a copy of them, and can be lost at any time.
package gitserver

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

const (
	// branch is the only one that there is.
	branch = "refs/heads/main"
	// processesAtOnce is how many clients one process serves at a time; the others wait for a while.
	processesAtOnce = 16
	waitForTurn     = 20 * time.Second
	// maxHistory is the largest history that can be pushed to.
	maxHistory = 1_000_000_000
	// maxRequest is how much a client can ask for at once: the names of commits that it wants and has.
	maxRequest = 16_000_000
)

// Server is the use cases of git clients.
type Server struct {
	DB          *sqldb.DB
	Log         *slog.Logger
	Clock       clock.Clock
	Door        *door.Door
	Definitions *definitions.Definitions
	Archives    *archives.Archives
	Blobs       blob.Store
	// Git is the git program; nil when there is none that can be used.
	Git *gitcmd.Git
	// Signer signs the commits that are made here; nil when they are not signed.
	Signer *gitcmd.Signer
	// Person is how commits name somebody.
	Person func(ctx context.Context, userID string) gitcmd.Person
	// Folder is where copies of repositories are kept. They can be removed at any time.
	Folder string
	// MaxPush is the largest pack that is taken.
	MaxPush int64

	processes turns
	slots     sync.Map // by workspace, a semaphore of one
}

// turns are the clients that are being served. The zero value has all turns free.
type turns struct {
	once sync.Once
	free chan struct{}
}

// take waits for a turn, for a while.
func (t *turns) take(ctx context.Context, clk clock.Clock) (giveBack func(), err error) {
	t.once.Do(func() { t.free = make(chan struct{}, processesAtOnce) })
	timer := clk.NewTimer(waitForTurn)
	defer timer.Stop()
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free }, nil
	case <-timer.C():
		return nil, errs.New(errs.ConcurrentRequestLimit, "Too many git clients are being served; try again shortly.").WithRetryAfter(waitForTurn)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter finds the workspace that a client names, by its id or its slug and with .git behind it or not, for a caller that may
// do this to it.
func (s *Server) enter(ctx context.Context, name, action string) (workspaces.Workspace, error) {
	if s.Git == nil {
		return workspaces.Workspace{}, errs.New(errs.Unavailable, "The installation has no git program that can be used.")
	}
	name = strings.TrimSuffix(name, ".git")
	ref := name
	if _, err := store.Get(ctx, s.DB, name); sqldb.IsNotFound(err) { // ids are random: nobody can choose one that is somebody's slug
		ref = store.SlugPrefix + name
	} else if err != nil {
		return workspaces.Workspace{}, err
	}
	v, err := s.Door.May(ctx, s.DB, ref, access.ActionRead, action)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	return v.Workspace, s.Definitions.ReadsAll(ctx, v)
}

// MayFetch refuses callers that may not read the workspace, before they send anything.
func (s *Server) MayFetch(ctx context.Context, name string) error {
	_, err := s.enter(ctx, name, access.ActionRead)
	return err
}

// MayPush refuses callers that may not update the workspace, before they send anything.
func (s *Server) MayPush(ctx context.Context, name string) error {
	_, err := s.enter(ctx, name, access.ActionUpdate)
	return err
}

// hold takes the turn of a workspace in this process: its copy is brought up to date, or pushed to, by one at a time.
func (s *Server) hold(ctx context.Context, workspaceID string) (release func(), err error) {
	made, _ := s.slots.LoadOrStore(workspaceID, make(chan struct{}, 1))
	slot, _ := made.(chan struct{})
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// spooled is a file without a name, which is gone however the process ends.
type spooled struct {
	*os.File

	size int64
}

// spool makes a file of what fill writes.
func (s *Server) spool(fill func(w io.Writer) error) (*spooled, error) {
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, errs.Wrap(err, "make the folder of repositories")
	}
	file, err := os.CreateTemp(s.Folder, ".pack-*")
	if err != nil {
		return nil, errs.Wrap(err, "keep a pack")
	}
	err = os.Remove(file.Name()) //nolint:gosec // the name is ours
	if err == nil {
		err = fill(file)
	}
	f := &spooled{File: file}
	if err == nil {
		f.size, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return f, nil
}

// folderOf is where the copy of a workspace's repository is. Ids have nothing in them that folders could not be called.
func (s *Server) folderOf(workspaceID string) string {
	return filepath.Join(s.Folder, "served", workspaceID+".git")
}

// Purge forgets the history of a workspace, in the transaction that removes the workspace itself.
func (s *Server) Purge(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return store.DropGit(ctx, tx, workspaceID, s.Clock.Now())
}
