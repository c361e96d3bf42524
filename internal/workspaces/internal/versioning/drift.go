package versioning

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// How a workspace and a repository differ.
const (
	InSync     = "inSync"
	Ahead      = "ahead"
	Behind     = "behind"
	Diverged   = "diverged"
	InConflict = "conflict"
)

// Drift is how a workspace and a repository differ.
type Drift struct {
	Branches

	RepositoryID string    `json:"repositoryId" doc:"The repository."`
	Status       string    `json:"status" enum:"inSync,ahead,behind,diverged,conflict" doc:"ahead: only the workspace was changed; behind: only the repository; diverged: both, and they can be merged; conflict: both, in the same places."`
	CheckedAt    time.Time `json:"checkedAt" doc:"When that was found."`
	Commit       string    `json:"commit,omitempty" doc:"The newest commit of the target branch."`
	Local        []string  `json:"local" nullable:"false" doc:"The documents that were changed in the workspace since the last sync."`
	Remote       []string  `json:"remote" nullable:"false" doc:"The documents that were changed in the repository since the last sync."`
	Conflicts    []string  `json:"conflicts" nullable:"false" doc:"The documents that were changed in the same places."`
}

// Drift tells how a workspace that the caller may read and one of its repositories differ.
func (v *Versioning) Drift(ctx context.Context, ref, repositoryID string) (Drift, error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionRead)
	if err != nil {
		return Drift{}, err
	}
	repository, err := v.repository(ctx, v.DB, visit.Workspace, repositoryID)
	if err != nil {
		return Drift{}, err
	}
	leave, err := v.Look()
	if err != nil {
		return Drift{}, err
	}
	defer leave()
	found, err := v.drift(ctx, visit.Workspace, repository)
	if err != nil {
		return Drift{}, err
	}
	return found, v.noteDrift(ctx, visit.Workspace, found)
}

// drift compares both sides.
func (v *Versioning) drift(ctx context.Context, w workspaces.Workspace, repository repositories.Repository) (Drift, error) {
	found := Drift{Branches: branchesOf(w, repository), RepositoryID: repository.ID, CheckedAt: v.Definitions.Now(), Local: []string{}, Remote: []string{}, Conflicts: []string{}}
	other, err := v.open(ctx, w, repository)
	if err != nil {
		return found, err
	}
	p := &pulling{Pull: Pull{Version: latest}, run: v.rehearsal(w, repository), other: other}
	if p.seen, err = other.look(ctx, latest, ""); err != nil {
		return found, err
	}
	found.Commit = p.seen.Commit
	if !hasDocuments(p.seen.Names) { // nothing of it is there: it is all to be pushed
		now, err := v.snapshot(ctx, w.ID)
		found.Status, found.Local = Ahead, now.side.paths()
		return found, err
	}
	if err := v.readSides(ctx, p); err != nil {
		return found, err
	}
	if err := v.mergePull(ctx, p); err != nil {
		if errs.CodeOf(err) != errs.Conflict {
			return found, err
		}
		found.Status = InConflict
		return found, nil
	}
	found.Local, found.Remote = orEmpty(changed(p.mergeBase, p.ours)), orEmpty(changed(p.mergeBase, p.theirs))
	found.Conflicts = orEmpty(documentsOf(p.result.conflicts))
	switch {
	case len(p.result.conflicts) > 0 || w.Lock.Reason == workspaces.MergeConflict:
		found.Status = InConflict
	case equal(p.ours, p.theirs):
		found.Status = InSync
	case equal(p.result.side, p.ours):
		found.Status = Ahead
	case equal(p.result.side, p.theirs):
		found.Status = Behind
	default:
		found.Status = Diverged
	}
	return found, nil
}

// changed lists the documents that differ.
func changed(from, to side) (paths []string) {
	c := changesOf(from, to)
	return append(c.Files, c.Deleted...)
}

// noteDrift remembers what was found, and tells of it when it is news.
func (v *Versioning) noteDrift(ctx context.Context, w workspaces.Workspace, found Drift) error {
	return v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		news, err := store.SetDrift(ctx, tx, w.ID, found.RepositoryID, found.Status, found.CheckedAt)
		if err != nil || !news {
			return err
		}
		return v.Definitions.Emit(ctx, tx, w.ID, &catalogue.DriftDetected{
			Workspace: definitions.Ref(w), RepositoryID: found.RepositoryID, Status: found.Status,
			Local: first(found.Local), Remote: first(found.Remote), Conflicts: first(found.Conflicts), Commit: found.Commit,
		})
	})
}

func first(list []string) []string { return list[:min(len(list), mostShown)] }

// watchedAtOnce is how many syncs one round of watching looks at.
const watchedAtOnce = 20

// watchPause is how long the watching rests between two rounds.
const watchPause = 5 * time.Second

// KeepWatch watches the syncs until the context ends. It is apart from everything else, because repositories may take long to answer.
func (v *Versioning) KeepWatch(ctx context.Context) error {
	for v.WatchEvery > 0 {
		if err := v.Watch(ctx); err != nil && ctx.Err() == nil {
			v.Log.WarnContext(ctx, "repositories could not be watched", "error", err)
		}
		timer := v.Clock.NewTimer(watchPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
	<-ctx.Done()
	return nil
}

// Watch looks once at the syncs that nobody has looked at for a while. Each is looked at by one process of the cluster.
func (v *Versioning) Watch(ctx context.Context) error {
	now := v.Definitions.Now()
	due, err := store.Unchecked(ctx, v.DB, now.Add(-v.WatchEvery), watchedAtOnce)
	if err != nil {
		return err
	}
	for _, one := range due {
		var mine bool
		err := v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			mine, err = store.ClaimCheck(ctx, tx, one.WorkspaceID, one.Sync, now)
			return err
		})
		if err != nil {
			return err
		}
		if !mine {
			continue
		}
		if err := contained(func() error { return v.watch(ctx, one) }); err != nil && ctx.Err() == nil {
			v.Log.DebugContext(ctx, "a repository could not be compared", "workspace", one.WorkspaceID, "repository", one.RepositoryID, "error", err)
		}
	}
	return nil
}

func (v *Versioning) watch(ctx context.Context, one store.Checked) error {
	w, err := store.Get(ctx, v.DB, one.WorkspaceID)
	if err != nil {
		return err
	}
	if w.Lock.Held(v.Clock.Now()) && w.Lock.Reason != workspaces.MergeConflict {
		return nil // it is being changed
	}
	repository, err := v.repository(ctx, v.DB, w, one.RepositoryID)
	if errs.CodeOf(err) == errs.NotFound { // the repository was taken out of the configuration
		return v.DB.Tx(ctx, func(tx *sqldb.Tx) error { return store.DeleteSync(ctx, tx, w.ID, one.RepositoryID) })
	}
	if err != nil || repository.Fingerprint() != one.Place {
		return err
	}
	found, err := v.drift(ctx, w, repository)
	if err != nil {
		return err
	}
	return v.noteDrift(ctx, w, found)
}
