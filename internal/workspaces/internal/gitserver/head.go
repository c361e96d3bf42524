package gitserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// tries is how often a commit is made anew because somebody else was faster.
const tries = 10

// plainFile is the mode of a document in a tree.
const plainFile = "100644"

// moment is a workspace at one moment.
type moment struct {
	workspace workspaces.Workspace
	tree      []store.Entry
	head      store.GitHead
	// edit is the last one; the zero edit when it is not known.
	edit store.Revision
}

// served is a repository whose branch has the workspace as it was a moment ago.
type served struct {
	*gitcmd.Repository

	moment
}

// current brings the branch of a workspace up to date: when the documents differ from those of its commit, one more commit
// says so. It is made once, whoever asks, also in several processes. The caller holds the workspace's turn.
func (s *Server) current(ctx context.Context, workspaceID string) (served, error) {
	for range tries {
		now, err := s.look(ctx, workspaceID)
		if err != nil {
			return served{}, err
		}
		repository, err := s.catchUp(ctx, workspaceID, now.head)
		if err != nil {
			return served{}, err
		}
		if now.head.Commit != "" && now.head.Content == now.workspace.ContentRevision {
			return served{repository, now}, nil
		}
		next, moved, err := s.advance(ctx, repository, now)
		if err != nil {
			return served{}, err
		}
		if moved {
			now.head = next
			return served{repository, now}, nil
		}
	}
	return served{}, errs.New(errs.Unavailable, "The workspace is being changed too quickly; try again shortly.").WithRetryAfter(time.Second)
}

// look reads everything of one moment.
func (s *Server) look(ctx context.Context, workspaceID string) (m moment, err error) {
	err = s.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if m.workspace, err = store.Get(ctx, tx, workspaceID); err != nil {
			if sqldb.IsNotFound(err) {
				return errs.Missing("workspaces", workspaceID)
			}
			return err
		}
		if m.head, err = store.GetGitHead(ctx, tx, workspaceID); err != nil {
			return err
		}
		if m.edit, _, err = store.LastEdit(ctx, tx, workspaceID, m.workspace.ContentRevision); err != nil {
			return err
		}
		m.tree, err = store.Tree(ctx, tx, workspaceID)
		return err
	})
	return m, err
}

// advance makes the commit of what has changed, and moves the branch to it. When the documents are the same after all, the
// branch stays. It tells whether the branch was still where it was seen.
func (s *Server) advance(ctx context.Context, repository *gitcmd.Repository, now moment) (store.GitHead, bool, error) {
	next := store.GitHead{Commit: now.head.Commit, Content: now.workspace.ContentRevision}
	commit, err := s.difference(ctx, repository, now)
	if err != nil {
		return next, false, err
	}
	var pack store.GitPack
	if len(commit.Write)+len(commit.Delete) > 0 || now.head.Commit == "" {
		s.describe(ctx, &commit, now)
		if next.Commit, err = repository.Commit(ctx, commit); err != nil {
			return next, false, errs.Wrap(err, "commit the documents of a workspace")
		}
		failpoint.At("git.committed")
		if pack, err = s.keep(ctx, repository, next.Commit, now.head.Commit); err != nil {
			return next, false, err
		}
	}
	moved, err := s.move(ctx, now, next, pack)
	if err != nil || !moved || pack.Hash == "" {
		return next, moved, err
	}
	failpoint.At("git.moved")
	if err := repository.SetRef(ctx, branch, next.Commit); err != nil {
		return next, false, err
	}
	s.tidied(ctx, now.workspace.ID, repository)
	return next, true, nil
}

// move stores where the branch is now.
func (s *Server) move(ctx context.Context, now moment, next store.GitHead, pack store.GitPack) (moved bool, err error) {
	err = s.DB.Tx(sqldb.WithHook(ctx, nil), func(tx *sqldb.Tx) (err error) {
		if _, err := store.Hold(ctx, tx, now.workspace.ID); err != nil { // one that was deleted meanwhile gets none
			if sqldb.IsNotFound(err) {
				return errs.Missing("workspaces", now.workspace.ID)
			}
			return err
		}
		if moved, err = store.MoveGitHead(ctx, tx, now.workspace.ID, now.head.Commit, next, s.Clock.Now()); err != nil || !moved || pack.Hash == "" {
			return err
		}
		return store.AddGitPack(ctx, tx, now.workspace.ID, pack, s.Clock.Now())
	})
	return moved, err
}

// tidied keeps a history small; when that does not work out, the next one tries again.
func (s *Server) tidied(ctx context.Context, workspaceID string, repository *gitcmd.Repository) {
	if err := s.tidy(ctx, workspaceID, repository); err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the history of a workspace could not be put together", "workspace", workspaceID, "error", err.Error())
	}
}

// difference is the commit that makes the documents of the head those of the workspace. Files that are no documents stay.
func (s *Server) difference(ctx context.Context, repository *gitcmd.Repository, now moment) (gitcmd.Commit, error) {
	commit := gitcmd.Commit{Write: map[string][]byte{}}
	files, err := s.Archives.Leaving(ctx, now.workspace.ID, now.tree)
	if err != nil {
		return commit, err
	}
	there := map[string]gitcmd.Entry{}
	if now.head.Commit != "" {
		commit.Parents, commit.From = []string{now.head.Commit}, now.head.Commit
		tree, err := repository.Tree(ctx, now.head.Commit, "")
		if err != nil {
			return commit, err
		}
		there = documentsOf(tree)
	}
	for _, file := range files {
		name := file.Path + file.Ext
		if entry := there[name]; entry.Object != gitcmd.BlobID(file.Text) || entry.Mode != plainFile {
			commit.Write[name] = file.Text
		}
		delete(there, name)
	}
	for name := range there {
		commit.Delete = append(commit.Delete, name)
	}
	slices.Sort(commit.Delete)
	return commit, nil
}

// documentsOf are the files of a tree that are documents, by their names.
func documentsOf(tree gitcmd.Tree) map[string]gitcmd.Entry {
	found := map[string]gitcmd.Entry{}
	for _, entry := range tree.Entries {
		if _, _, is := archive.IsDocument(entry.Path); is {
			found[entry.Path] = entry
		}
	}
	return found
}

// describe says who made the change that a commit is of, when, and which documents it is about.
func (s *Server) describe(ctx context.Context, commit *gitcmd.Commit, now moment) {
	by, at := now.edit.CreatedBy, now.edit.CreatedAt
	if at.IsZero() {
		by, at = now.workspace.UpdatedBy, now.workspace.UpdatedAt
	}
	commit.Author, commit.Committer, commit.When = s.Person(ctx, by), gitcmd.Person{Name: "Atelier", Email: "atelier@atelier.invalid"}, at
	commit.Message, commit.Sign = message(commit, now), s.Signer
}

func message(commit *gitcmd.Commit, now moment) string {
	const most = 50
	title := "Changes of " + now.workspace.Slug
	names := slices.Concat(slices.Sorted(maps.Keys(commit.Write)), commit.Delete)
	switch {
	case now.head.Commit == "":
		return "The workspace " + now.workspace.Slug + "\n"
	case now.head.Content == 0:
		title = "What the workspace made of " + short(now.head.Commit)
	case now.edit.Reason != "" && now.edit.Reason != definitions.Edited:
		title += strings.TrimRight(" by "+now.edit.Reason+" "+now.edit.Note, " ")
	case len(names) == 1:
		title = "Change " + names[0]
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", oneLine(title))
	for _, name := range names[:min(len(names), most)] {
		text.WriteString(name + "\n")
	}
	if more := len(names) - most; more > 0 {
		fmt.Fprintf(&text, "and %d more\n", more)
	}
	return text.String()
}

// short is how a commit is shown.
func short(commit string) string {
	const length = 10
	return commit[:min(length, len(commit))]
}
