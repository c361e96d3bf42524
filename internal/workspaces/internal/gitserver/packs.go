package gitserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// mostPacks is how many packs a history is made of before they are put together.
const mostPacks = 50

// copyOf opens the copy of a workspace's repository. One that cannot be used any more is made anew: nothing is only there.
func (s *Server) copyOf(ctx context.Context, workspaceID string) (*gitcmd.Repository, error) {
	folder := s.folderOf(workspaceID)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil, errs.Wrap(err, "make the folder of repositories")
	}
	repository, err := s.Git.Repository(ctx, folder)
	if !errors.Is(err, gitcmd.ErrBroken) {
		return repository, err
	}
	if err := s.discard(workspaceID); err != nil {
		return nil, err
	}
	return s.Git.Repository(ctx, folder)
}

func (s *Server) discard(workspaceID string) error {
	return errs.Wrap(os.RemoveAll(s.folderOf(workspaceID)), "remove a broken repository")
}

// catchUp gives the copy what it lacks of the history, and sets its branch.
func (s *Server) catchUp(ctx context.Context, workspaceID string, head store.GitHead) (*gitcmd.Repository, error) {
	repository, err := s.copyOf(ctx, workspaceID)
	if err != nil || head.Commit == "" {
		return repository, err
	}
	at, err := repository.Ref(ctx, branch)
	if err != nil {
		return nil, err
	}
	if at == head.Commit {
		if there, err := repository.Has(ctx, at); err == nil && there {
			return repository, nil
		}
		at = "" // it lost something: all of it comes again
	}
	packs, err := store.GitPacks(ctx, s.DB, workspaceID)
	if err != nil {
		return nil, err
	}
	if len(packs) == 0 {
		return nil, fmt.Errorf("gitserver: the history of workspace %s is lost", workspaceID)
	}
	for _, pack := range lacking(packs, at) {
		if err := s.receiveKept(ctx, repository, pack); err != nil {
			return nil, errs.Wrap(err, "restore the history of a workspace")
		}
	}
	// The packs may be of a later moment than the head: whoever asks next finds the branch where it is then.
	if err := repository.SetRef(ctx, branch, packs[len(packs)-1].Head); err != nil {
		return nil, err
	}
	return repository, nil
}

// lacking are the packs behind the one that brought a copy to a commit; all of them when none did.
func lacking(packs []store.GitPack, at string) []store.GitPack {
	for i := len(packs) - 1; i >= 0; i-- {
		if packs[i].Head == at {
			return packs[i+1:]
		}
	}
	return packs
}

func (s *Server) receiveKept(ctx context.Context, repository *gitcmd.Repository, pack store.GitPack) error {
	content, err := s.Blobs.Open(ctx, pack.Hash, 0, -1)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	quarantine, err := repository.Receive(ctx, content, pack.Size+1)
	if err != nil {
		return err
	}
	defer quarantine.Drop()
	return quarantine.Keep()
}

// keep stores what a commit has that the head does not. Until a row names it, it is on the list of what is removed.
func (s *Server) keep(ctx context.Context, repository *gitcmd.Repository, commit, head string) (store.GitPack, error) {
	var without []string
	if head != "" {
		without = append(without, head)
	}
	file, err := s.spool(func(w io.Writer) error { return repository.Pack(ctx, w, commit, without...) })
	if err != nil {
		return store.GitPack{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := s.Blobs.Put(ctx, file, 0)
	if err != nil {
		return store.GitPack{}, errs.Wrap(err, "keep a pack")
	}
	failpoint.At("git.stored")
	// The content is no work of the request: it comes before it.
	err = s.DB.Tx(sqldb.WithHook(ctx, nil), func(tx *sqldb.Tx) error {
		noted, err := store.NoteContent(ctx, tx, info.Hash, s.Clock.Now())
		if err == nil && !noted {
			return errs.New(errs.Unavailable, "The same content is being removed right now; try again shortly.").WithRetryAfter(time.Second)
		}
		return err
	})
	if err == nil {
		_, err = s.Blobs.Stat(ctx, info.Hash) // it was not removed before it was noted
	}
	return store.GitPack{Head: commit, Hash: info.Hash, Size: info.Size}, err
}

// tidy puts packs together when there are many. The oldest stays as it is while it is larger than the others together.
func (s *Server) tidy(ctx context.Context, workspaceID string, repository *gitcmd.Repository) error {
	if err := repository.Maintain(ctx); err != nil {
		return err
	}
	packs, err := store.GitPacks(ctx, s.DB, workspaceID)
	if err != nil || len(packs) <= mostPacks {
		return err
	}
	head, base := packs[len(packs)-1].Head, ""
	first := packs[0]
	if first.Size > total(packs[1:]) {
		base, packs = first.Head, packs[1:]
	}
	whole, err := s.keep(ctx, repository, head, base)
	if err != nil {
		return err
	}
	return s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := store.Hold(ctx, tx, workspaceID); err != nil {
			return err
		}
		now, err := store.GetGitHead(ctx, tx, workspaceID)
		if err != nil || now.Commit != head {
			return err // it went on; the next one tidies
		}
		there, err := store.GitPacks(ctx, tx, workspaceID)
		if err != nil || len(there) < len(packs) || there[len(there)-1].Number != packs[len(packs)-1].Number || there[len(there)-len(packs)] != packs[0] {
			return err // somebody else was faster
		}
		if err := store.DropGitPacks(ctx, tx, workspaceID, packs[0].Number, packs[len(packs)-1].Number, s.Clock.Now()); err != nil {
			return err
		}
		return store.AddGitPack(ctx, tx, workspaceID, whole, s.Clock.Now())
	})
}

func total(packs []store.GitPack) (size int64) {
	for _, pack := range packs {
		size += pack.Size
	}
	return size
}
