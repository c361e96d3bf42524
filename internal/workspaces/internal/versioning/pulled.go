package versioning

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// importPull stores the merged documents, and everything that goes with them, in one transaction.
func (v *Versioning) importPull(ctx context.Context, p *pulling) (any, error) {
	done := Pulled{Workspace: p.run.op.Workspace.ID, Version: p.version(), Commit: p.seen.Commit}
	p.run.progress.note("pull:done", "The workspace has version "+done.Version)
	from := &archive.Archive{Files: p.result.side.files(), Import: p.info}
	result, err := v.Archives.Pull(ctx, p.run.op, from, archives.Pulled{
		Keep: p.run.repository.Excludes, Reslug: !p.KeepSlug, Note: done.Version, Expect: p.unedited,
		Also: func(ctx context.Context, tx *sqldb.Tx, after workspaces.Workspace, result *archives.Result) (err error) {
			if done.Recovery, err = v.recovery(ctx, tx, p); err != nil {
				return err
			}
			done.Imported, done.Deleted, done.Findings = orEmpty(result.Imported), orEmpty(result.Deleted), orEmpty(result.Findings)
			return v.recordPull(ctx, tx, p, after, result, done)
		},
	})
	failpoint.At("pull.imported")
	done.Imported, done.Deleted, done.Findings, done.Published = result.Imported, result.Deleted, result.Findings, result.Published
	return done, err
}

// unedited refuses to import over what somebody edited since the merge was made, which they could once the lock had expired.
func (p *pulling) unedited(w workspaces.Workspace) error {
	if w.ContentRevision != p.local.workspace.ContentRevision {
		return definitions.LostLock()
	}
	return nil
}

// version is the name of what was pulled.
func (p *pulling) version() string {
	const short = 12
	switch {
	case p.Version != latest:
		return p.Version
	case p.info != nil && p.info.Version.Name != "":
		return p.info.Version.Name
	case len(p.seen.Commit) > short:
		return p.seen.Commit[:short]
	default:
		return latest
	}
}

// recovery keeps what a pull that discards gives up as a native version.
func (v *Versioning) recovery(ctx context.Context, tx *sqldb.Tx, p *pulling) (string, error) {
	if !p.Discard || equal(p.local.side, p.known.base) || equal(p.local.side, p.result.side) {
		return "", nil
	}
	return v.Definitions.KeepRecovery(ctx, tx, p.local.workspace, p.local.tree)
}

// recordPull stores what goes with the documents of a pull, and ends it.
func (v *Versioning) recordPull(ctx context.Context, tx *sqldb.Tx, p *pulling, after workspaces.Workspace, result *archives.Result, done Pulled) error {
	base := maps.Clone(p.theirs)
	left := func(path string) bool {
		return p.run.repository.Excludes(path) || slices.Contains(result.LeftOut, path)
	}
	for _, s := range []side{p.theirs, p.known.base} {
		for path := range s {
			if !left(path) {
				continue
			}
			delete(base, path) // what was not taken up is not in common
			if f, there := p.known.base[path]; there {
				base[path] = f
			}
		}
	}
	next, err := v.nextSync(ctx, tx, p, after)
	if err != nil {
		return err
	}
	if err := v.agree(ctx, tx, after.ID, next, base); err != nil {
		return err
	}
	pulled := &workspaces.Sync{CreatedAt: v.Definitions.Now(), CreatedBy: p.run.by, Version: done.Version, RepositoryID: p.run.repository.ID}
	if err := store.SetPulled(ctx, tx, after.ID, pulled); err != nil {
		return err
	}
	if equal(p.result.side, p.theirs) && len(result.LeftOut) == 0 {
		if err := store.SetPushed(ctx, tx, after.ID, after.ContentRevision, nil); err != nil {
			return err
		}
	}
	if err := store.DeleteConflict(ctx, tx, after.ID); err != nil {
		return err
	}
	if err := p.run.progress.store(ctx, tx); err != nil {
		return err
	}
	return p.run.op.Complete(ctx, tx, done)
}

// nextSync is what the two have in common after a pull.
func (v *Versioning) nextSync(ctx context.Context, tx *sqldb.Tx, p *pulling, after workspaces.Workspace) (store.Sync, error) {
	next := p.known.Sync
	next.Previous, next.PulledRevision = "", 0
	if after.Revision != p.local.workspace.Revision { // otherwise there is nothing that could be undone
		previous, err := v.leave(ctx, tx, after.ID, p.before)
		if err != nil {
			return next, err
		}
		next.Previous, next.PulledRevision = previous, after.Revision
	}
	next.Current = p.known.Saved != p.before.Saved || p.resolved || p.before.Current && p.before.Commit == p.seen.Commit
	next.Commit, next.Tree = p.seen.Commit, p.seen.Tree
	if p.resolved || p.Discard {
		next.Saved = p.seen.Intermediate
	}
	if p.Discard {
		next.Current = false
	}
	next.Drift = InSync
	if !equal(p.result.side, p.theirs) {
		next.Drift = Ahead
	}
	return next, nil
}
