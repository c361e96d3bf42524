package versioning

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// dispute is what is kept of a conflict: where both sides were, and what was settled so far.
type dispute struct {
	Branches

	Version string `json:"version"`
	// Commit and Tree are those of the target branch, Saved what the workspace was saved as.
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	Saved  string `json:"saved"`
	// Base, Ours and Theirs are trees in the database. Ours is what the workspace was saved as.
	Base    string   `json:"base"`
	Ours    string   `json:"ours"`
	Theirs  string   `json:"theirs"`
	Choices []choice `json:"choices,omitempty"`
	// Merges are the commits that settlings were about to write to the intermediate branch and could not finish.
	Merges []string `json:"merges,omitempty"`
}

// block ends a pull by locking the workspace: what it is has been saved to the intermediate branch, and nothing was changed.
func (v *Versioning) block(ctx context.Context, p *pulling) error {
	names := branchesOf(p.run.op.Workspace, p.run.repository)
	if b, ok := p.other.(*branch); ok && writable(p.run.repository) && !v.again(p) {
		p.run.progress.step(ctx, "write", "Saving the workspace")
		saved, err := v.commitLocal(ctx, p, b)
		if err != nil {
			return err
		}
		if err := p.saveAs(ctx, b, saved); err != nil {
			return err
		}
		p.known.Saved = saved
	}
	failpoint.At("pull.blocking")
	failure := conflicting(names, p.run.repository, p.result.conflicts)
	p.run.progress.note("error", failure.Message).Error = new(failure.Show())
	err := v.DB.Tx(ctx, func(tx *sqldb.Tx) error { return v.dispute(ctx, tx, p, names, failure) })
	if err != nil {
		return err
	}
	return &blockedError{failure}
}

// again tells that the same conflict is met again: the workspace was locked since, so that it is saved already.
func (v *Versioning) again(p *pulling) bool {
	return p.run.op.Over.Reason == workspaces.MergeConflict && p.known.Saved != "" && p.seen.Intermediate == p.known.Saved
}

// dispute stores a conflict and locks the workspace for it.
func (v *Versioning) dispute(ctx context.Context, tx *sqldb.Tx, p *pulling, names Branches, failure error) error {
	id := p.run.op.Workspace.ID
	if err := store.DeleteConflict(ctx, tx, id); err != nil {
		return err
	}
	d := dispute{Branches: names, Version: p.version(), Commit: p.seen.Commit, Tree: p.seen.Tree, Saved: p.known.Saved}
	for _, part := range []struct {
		name string
		side side
		tree *string
	}{{"base", p.mergeBase, &d.Base}, {"ours", p.ours, &d.Ours}, {"theirs", p.theirs, &d.Theirs}} {
		tree, err := keep(ctx, tx, id, part.side)
		if err != nil {
			return err
		}
		*part.tree = tree
		if err := store.PutVersion(ctx, tx, id, store.Version{Kind: store.Theirs, Name: part.name, Tree: tree, CreatedAt: v.Definitions.Now(), CreatedBy: p.run.by}); err != nil {
			return err
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := store.PutConflict(ctx, tx, id, store.Conflict{RepositoryID: p.run.repository.ID, Data: string(text), CreatedAt: v.Definitions.Now(), CreatedBy: p.run.by}); err != nil {
		return err
	}
	next := p.known.Sync
	next.Drift, next.Current = InConflict, p.known.Saved != p.before.Saved || p.before.Current
	if err := v.agree(ctx, tx, id, next, p.known.base); err != nil {
		return err
	}
	if err := p.run.progress.store(ctx, tx); err != nil {
		return err
	}
	return p.run.op.Block(ctx, tx, workspaces.MergeConflict, failure)
}

// Conflicts are those for which a workspace is locked.
type Conflicts struct {
	Branches

	RepositoryID string     `json:"repositoryId" doc:"The repository that was pulled from."`
	Commit       string     `json:"commit,omitempty" doc:"The commit that was pulled."`
	Version      string     `json:"version,omitempty" doc:"The version that was pulled."`
	CreatedAt    time.Time  `json:"createdAt" doc:"When the conflict was found."`
	CreatedBy    string     `json:"createdBy,omitempty" doc:"Whose pull found it."`
	Open         int        `json:"open" doc:"How many of the conflicts are not settled."`
	Conflicts    []Conflict `json:"conflicts" nullable:"false" doc:"The conflicts."`
}

// conflicted is a conflict with both of its sides.
type conflicted struct {
	dispute

	stored     store.Conflict
	local      local
	base       side
	ours       side
	theirs     side
	repository repositories.Repository
}

// Conflicts reads the conflicts of a workspace that the caller may read; none when it is not locked for any.
func (v *Versioning) Conflicts(ctx context.Context, ref string) (Conflicts, error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionRead)
	if err != nil {
		return Conflicts{}, err
	}
	if err := v.Definitions.ReadsAll(ctx, visit); err != nil {
		return Conflicts{}, err
	}
	c, err := v.conflicted(ctx, visit.Workspace)
	if err != nil {
		return Conflicts{Conflicts: []Conflict{}}, err
	}
	return v.list(c)
}

// conflicted reads the conflict of a workspace; resource_not_found when there is none.
func (v *Versioning) conflicted(ctx context.Context, w workspaces.Workspace) (c conflicted, err error) {
	c.stored, err = store.GetConflict(ctx, v.DB, w.ID)
	if sqldb.IsNotFound(err) || err == nil && w.Lock.Reason != workspaces.MergeConflict && w.Lock.Reason != Resolving {
		return c, errs.New(errs.NotFound, "The workspace has no conflicts.").With("subjectType", "conflicts")
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(c.stored.Data), &c.dispute); err != nil {
		return c, err
	}
	if c.local, err = v.snapshot(ctx, w.ID); err != nil {
		return c, err
	}
	if c.base, err = kept(ctx, v.DB, w.ID, c.Base); err != nil {
		return c, err
	}
	if c.ours, err = kept(ctx, v.DB, w.ID, c.Ours); err != nil {
		return c, err
	}
	if c.theirs, err = kept(ctx, v.DB, w.ID, c.Theirs); err != nil {
		return c, err
	}
	c.repository, err = v.repository(ctx, v.DB, w, c.stored.RepositoryID)
	return c, err
}

func (c conflicted) merger(choices []choice) merger {
	return merger{base: c.base, ours: c.ours, theirs: c.theirs, kept: c.repository.Excludes, choices: choices}
}

// list gives all conflicts, those that were settled among them.
func (v *Versioning) list(c conflicted) (Conflicts, error) {
	all, err := c.merger(nil).merge()
	if err != nil {
		return Conflicts{}, err
	}
	shown := Conflicts{
		Branches: c.Branches, RepositoryID: c.stored.RepositoryID, Commit: c.Commit, Version: c.Version, CreatedAt: c.stored.CreatedAt, CreatedBy: c.stored.CreatedBy,
		Conflicts: orEmpty(all.conflicts),
	}
	for i, conflict := range shown.Conflicts {
		at := slices.IndexFunc(c.Choices, func(one choice) bool { return one.about(conflict) })
		if at < 0 {
			shown.Open++
			continue
		}
		shown.Conflicts[i].Settled = c.Choices[at].Take
	}
	return shown, nil
}

func (c choice) about(conflict Conflict) bool {
	return c.Document == conflict.Document && slices.Equal(orEmpty(c.Path), conflict.Path)
}
