package versioning

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// Pull says what is pulled, and how.
type Pull struct {
	RepositoryID string
	// Version is latest, a tag or a commit.
	Version string
	// Discard gives up what the workspace has and the repository has not. It is kept as a native version first.
	Discard bool
	// PlanID, when given, is the plan that the pull has to be.
	PlanID string
	// KeepSlug leaves the workspace its slug, whatever its index says.
	KeepSlug bool
}

// Pulled is what a pull did. The operation shows it as it is, named like the answer to the pull itself.
type Pulled struct {
	Imported  []string           `json:"imported"`
	Deleted   []string           `json:"deleted"`
	Findings  []archives.Finding `json:"errors"`
	Published []string           `json:"publishedApps,omitempty"`
	Workspace string             `json:"workspaceId"`
	Version   string             `json:"version"`
	Commit    string             `json:"commit,omitempty"`
	// Recovery is the native version that keeps what was given up; empty when nothing was.
	Recovery string `json:"recovery,omitempty"`
}

// StartPull begins to pull into a workspace that the caller may update.
func (v *Versioning) StartPull(ctx context.Context, ref string, p Pull) (*Job, error) {
	w, repository, err := v.mayPull(ctx, ref, &p)
	if err != nil {
		return nil, err
	}
	return v.start(ctx, w, repository, Pulling, workspaces.MergeConflict, func(ctx context.Context, run *run) (any, error) { return v.pull(ctx, run, p) })
}

func (v *Versioning) mayPull(ctx context.Context, ref string, p *Pull) (w workspaces.Workspace, r repositories.Repository, err error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionUpdate)
	if err != nil {
		return w, r, err
	}
	if p.Version == "" {
		p.Version = latest
	}
	const longest = 200
	if len(p.Version) > longest {
		return w, r, errs.Invalid(errs.Field{Field: "version", Message: "use latest, the name of a version, or a commit"})
	}
	if r, err = v.repository(ctx, v.DB, visit.Workspace, p.RepositoryID); err != nil {
		return w, r, err
	}
	return visit.Workspace, r, r.MayPull()
}

// pulling is a pull on its way.
type pulling struct {
	Pull

	run   *run
	other place
	local local
	known common
	// before is what was known before the pull changed anything of it.
	before common
	seen   sight
	// theirs is what the repository has, info what it says of it.
	theirs side
	info   *archive.ImportInfo
	// ours is what is merged into: what the workspace has, or what somebody has made of it in Git.
	ours side
	// resolved tells that a conflict was settled in the repository: nothing is saved.
	resolved bool
	// mergeBase is what both had, as the merge took it.
	mergeBase side
	result    merged
}

// pull pulls into the workspace of an operation.
func (v *Versioning) pull(ctx context.Context, run *run, p Pull) (any, error) {
	run.progress.step(ctx, "checkout", "Opening the repository")
	other, err := v.open(ctx, run.op.Workspace, run.repository)
	if err != nil {
		return nil, err
	}
	return v.pullFrom(ctx, &pulling{Pull: p, run: run, other: other})
}

func (v *Versioning) pullFrom(ctx context.Context, p *pulling) (any, error) {
	p.run.progress.step(ctx, "pull", "Reading the repository")
	if err := v.see(ctx, p); err != nil {
		return nil, err
	}
	failpoint.At("pull.looked")
	p.run.progress.step(ctx, "merge", "Merging with the workspace")
	if err := v.mergePull(ctx, p); err != nil {
		return nil, err
	}
	plan := planOf("pull", p.run.repository, p.local.workspace, p.seen)
	plan.version, plan.discard = p.Version, p.Discard
	if err := v.planned(p.PlanID, plan); err != nil {
		return nil, err
	}
	if len(p.result.conflicts) > 0 {
		return nil, v.block(ctx, p)
	}
	if err := v.savePull(ctx, p); err != nil {
		return nil, err
	}
	failpoint.At("pull.saved")
	p.run.progress.step(ctx, "import", "Importing the documents")
	return v.importPull(ctx, p)
}

// see reads both sides and what they had in common.
func (v *Versioning) see(ctx context.Context, p *pulling) (err error) {
	if p.seen, err = p.other.look(ctx, p.Version, ""); err != nil {
		return err
	}
	return v.readSides(ctx, p)
}

// readSides reads what was seen of the repository, and the workspace.
func (v *Versioning) readSides(ctx context.Context, p *pulling) error {
	if _, isBranch := p.other.(*branch); isBranch && p.seen.Commit == "" {
		return errs.Newf(errs.NotFound, "The repository has no branch %s yet; push to make it.", p.run.repository.Branch).
			With("subjectType", "branches").With("branch", p.run.repository.Branch).With("repositoryId", p.run.repository.ID)
	}
	found, err := p.other.read(ctx, p.seen)
	if err != nil {
		return err
	}
	p.theirs, p.info = sideOf(found.Files), found.Import
	if p.local, err = v.snapshot(ctx, p.run.op.Workspace.ID); err != nil {
		return err
	}
	p.ours = p.local.side
	p.known, err = v.common(ctx, v.DB, p.run.op.Workspace.ID, p.run.repository)
	p.before = p.known
	return err
}

// mergePull merges the other side into the workspace.
func (v *Versioning) mergePull(ctx context.Context, p *pulling) (err error) {
	if p.Discard {
		p.result = merged{side: p.keepingOurs(p.theirs)}
		return nil
	}
	base, err := v.foreign(ctx, p)
	if err != nil {
		return err
	}
	p.mergeBase = base
	p.result, err = merger{base: base, ours: p.ours, theirs: p.theirs, kept: p.run.repository.Excludes}.merge()
	return err
}

// keepingOurs is the other side with our documents where the repository is not to be heard.
func (p *pulling) keepingOurs(theirs side) side {
	out := side{}
	for path, f := range theirs {
		if !p.run.repository.Excludes(path) {
			out[path] = f
		}
	}
	for path, f := range p.local.side {
		if p.run.repository.Excludes(path) {
			out[path] = f
		}
	}
	return out
}

// foreign takes up what somebody did on the intermediate branch: the conflict that was settled there, or anything else. It
// gives the base of the merge that follows.
func (v *Versioning) foreign(ctx context.Context, p *pulling) (side, error) {
	b, ok := p.other.(*branch)
	if !ok {
		return p.known.base, nil
	}
	base, err := v.base(ctx, p, b)
	if err != nil || p.seen.Intermediate == "" || p.seen.Intermediate == p.known.Saved {
		return base, err
	}
	for _, commit := range []string{p.known.Commit, p.seen.Commit} {
		if within, err := b.contains(ctx, commit, p.seen.Intermediate); err != nil || within {
			return base, err // it is known, or comes with the target branch
		}
	}
	if own, err := store.PlannedCommit(ctx, v.DB, p.run.op.Workspace.ID, p.seen.Intermediate); err != nil || own {
		return base, err // an operation that did not end well wrote it: whatever it saved is still here
	}
	there, err := v.at(ctx, p, b, p.seen.Intermediate)
	if err != nil {
		return nil, err
	}
	before, err := v.savedSide(ctx, p, b)
	if err != nil {
		return nil, err
	}
	joined, err := merger{base: before, ours: p.local.side, theirs: there, kept: p.run.repository.Excludes}.merge()
	if err != nil {
		return nil, err
	}
	if len(joined.conflicts) > 0 {
		return nil, divided(p, joined.conflicts)
	}
	p.ours = joined.side
	if p.resolved, err = b.contains(ctx, p.seen.Intermediate, p.seen.Commit); err != nil || !p.resolved {
		return base, err
	}
	return p.theirs, nil // it has all of the target branch, so that nothing is left to merge
}

// base is what both sides had last: what was in common, or what was saved of the workspace and has come into the target branch
// since.
func (v *Versioning) base(ctx context.Context, p *pulling, b *branch) (side, error) {
	if p.known.Saved == "" || !p.known.Current {
		return p.known.base, nil
	}
	if old, err := b.contains(ctx, p.known.Commit, p.known.Saved); err != nil || old && p.known.Commit != "" {
		return p.known.base, err
	}
	if within, err := b.contains(ctx, p.seen.Commit, p.known.Saved); err != nil || !within {
		return p.known.base, err
	}
	return v.at(ctx, p, b, p.known.Saved)
}

// divided says that somebody worked on the intermediate branch in the places that were changed here.
func divided(p *pulling, conflicts []Conflict) error {
	names := branchesOf(p.run.op.Workspace, p.run.repository)
	return errs.Newf(errs.Conflict, "Somebody changed the branch %s in places that were changed here too. Delete that branch, or pull with discardLocalChanges.", names.Intermediate).
		WithStatus(http.StatusConflict).With("reason", "intermediate_conflict").With("intermediateBranch", names.Intermediate).With("targetBranch", names.Target).
		With("files", documentsOf(conflicts))
}

// conflicting is the error of a pull that found conflicts.
func conflicting(names Branches, repository repositories.Repository, conflicts []Conflict) *errs.Error {
	message := "The workspace and the repository were changed in the same places. Settle the conflicts here, "
	if names.Intermediate != "" {
		message += "or merge " + names.Target + " into " + names.Intermediate + " in Git and pull again, "
	}
	message += "or pull with discardLocalChanges."
	return errs.New(errs.Conflict, message).WithStatus(http.StatusConflict).
		With("reason", workspaces.MergeConflict).With("intermediateBranch", names.Intermediate).With("targetBranch", names.Target).
		With("repositoryId", repository.ID).With("files", documentsOf(conflicts)).With("conflicts", len(conflicts))
}
