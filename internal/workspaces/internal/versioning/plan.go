package versioning

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"atelier/internal/dsul"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
)

// Plan is what an operation would do.
type Plan struct {
	PlanID       string   `json:"planId" doc:"Send it with the operation to apply exactly this; it is refused when something changed since."`
	Operation    string   `json:"operation" doc:"push, pull, resolve, import, bulkPush or bulkImport."`
	RepositoryID string   `json:"repositoryId,omitempty" doc:"The repository."`
	Version      string   `json:"version,omitempty" doc:"The version."`
	Commit       string   `json:"commit,omitempty" doc:"The commit of the branch that the plan was made for."`
	Created      []string `json:"created" nullable:"false" doc:"The documents that would be added: to the workspace, or to the repository by a push."`
	Updated      []string `json:"updated" nullable:"false" doc:"The documents that would be changed."`
	Deleted      []string `json:"deleted" nullable:"false" doc:"The documents that would be removed."`
	// Conflicts stop a pull.
	Conflicts []Conflict `json:"conflicts" nullable:"false" doc:"What was changed on both sides; there is no conflict with discardLocalChanges."`
	Order     []string   `json:"order,omitempty" doc:"Of a bulk operation: the workspaces in their order."`
	DryRun    bool       `json:"dryRun" doc:"Always true: nothing was changed."`
}

// facts are what a plan depends on.
type facts struct {
	operation, repository, place string
	workspace                    string
	revision                     int64
	commit, tree, intermediate   string
	version                      string
	discard                      bool
}

func planOf(operation string, r repositories.Repository, w workspaces.Workspace, s sight) facts {
	return facts{
		operation: operation, repository: r.ID, place: r.Fingerprint(), workspace: w.ID, revision: w.ContentRevision,
		commit: s.Commit, tree: s.Tree, intermediate: s.Intermediate,
	}
}

// id is the same as long as the same thing would happen.
func (f facts) id() string {
	text, err := json.Marshal([]any{f.operation, f.repository, f.place, f.workspace, f.revision, f.commit, f.tree, f.intermediate, f.version, f.discard})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// planned refuses to go on when a plan was asked for and another thing would happen.
func (v *Versioning) planned(planID string, now facts) error {
	if planID != "" && planID != now.id() {
		return Stale()
	}
	return nil
}

// rehearsal is a run that changes nothing: it holds no lock, and its steps are nobody's business.
func (v *Versioning) rehearsal(w workspaces.Workspace, repository repositories.Repository) *run {
	op := &definitions.Operation{Workspace: w, StartedAt: v.Definitions.Now(), Over: w.Lock}
	return &run{op: op, repository: repository, progress: &progress{v: v, op: op, silent: true}}
}

// PlanNative is the plan of saving a native version (push), or of going back to one (pull).
func PlanNative(operation string, n definitions.Native) Plan {
	made := facts{operation: operation, workspace: n.Workspace.ID, revision: n.Workspace.ContentRevision, version: n.Version, tree: n.Tree}
	return Plan{
		PlanID: made.id(), Operation: operation, Version: n.Version, DryRun: true,
		Created: orEmpty(n.Created), Updated: orEmpty(n.Updated), Deleted: orEmpty(n.Deleted), Conflicts: []Conflict{},
	}
}

// PlanPush tells what a push would do.
func (v *Versioning) PlanPush(ctx context.Context, ref string, p Push) (Plan, error) {
	w, repository, err := v.mayPush(ctx, ref, p)
	if err != nil {
		return Plan{}, err
	}
	if w.Lock.Held(v.Clock.Now()) {
		return Plan{}, definitions.Locked(w.Lock)
	}
	leave, err := v.Look()
	if err != nil {
		return Plan{}, err
	}
	defer leave()
	other, err := v.open(ctx, w, repository)
	if err != nil {
		return Plan{}, err
	}
	now, err := v.snapshot(ctx, w.ID)
	if err != nil {
		return Plan{}, err
	}
	tried := &pushing{Push: p, run: v.rehearsal(w, repository), local: now}
	if tried.seen, err = other.look(ctx, latest, p.Name); err != nil {
		return Plan{}, err
	}
	if tried.known, err = v.common(ctx, v.DB, w.ID, repository); err != nil {
		return Plan{}, err
	}
	if err := tried.nameIsFree(); err != nil {
		return Plan{}, err
	}
	if err := v.inStep(ctx, tried, other); err != nil {
		return Plan{}, err
	}
	if err := v.outgoing(ctx, tried, other, v.Definitions.Now()); err != nil {
		return Plan{}, err
	}
	made := planOf("push", repository, now.workspace, tried.seen)
	made.version = p.Name
	plan := Plan{
		PlanID: made.id(), Operation: "push", RepositoryID: repository.ID, Version: p.Name, Commit: tried.seen.Commit, DryRun: true,
	}
	plan.fill(tried.known.base, now.side)
	return plan, nil
}

// PlanPull tells what a pull would do.
func (v *Versioning) PlanPull(ctx context.Context, ref string, p Pull) (Plan, error) {
	w, repository, err := v.mayPull(ctx, ref, &p)
	if err != nil {
		return Plan{}, err
	}
	if w.Lock.Held(v.Clock.Now()) && w.Lock.Reason != workspaces.MergeConflict {
		return Plan{}, definitions.Locked(w.Lock)
	}
	leave, err := v.Look()
	if err != nil {
		return Plan{}, err
	}
	defer leave()
	other, err := v.open(ctx, w, repository)
	if err != nil {
		return Plan{}, err
	}
	tried := &pulling{Pull: p, run: v.rehearsal(w, repository), other: other}
	if err := v.see(ctx, tried); err != nil {
		return Plan{}, err
	}
	if err := v.mergePull(ctx, tried); err != nil {
		return Plan{}, err
	}
	made := planOf("pull", repository, tried.local.workspace, tried.seen)
	made.version, made.discard = p.Version, p.Discard
	plan := Plan{
		PlanID: made.id(), Operation: "pull", RepositoryID: repository.ID, Version: tried.version(), Commit: tried.seen.Commit, DryRun: true,
		Conflicts: tried.result.conflicts,
	}
	plan.fill(tried.local.side, tried.result.side)
	return plan, nil
}

// facts are what the settling of a conflict depends on: both sides, and all that was chosen.
func (c conflicted) facts() facts {
	made := planOf("resolve", c.repository, c.local.workspace, sight{Commit: c.Commit, Tree: c.Tree, Intermediate: c.Saved})
	if text, err := json.Marshal(c.Choices); err == nil {
		made.version = string(text)
	}
	return made
}

// PlanResolve tells what settling conflicts would do. The merge is applied when it lists none that are left.
func (v *Versioning) PlanResolve(ctx context.Context, ref string, r Resolutions) (Plan, error) {
	w, c, result, err := v.settled(ctx, ref, r)
	if err != nil {
		return Plan{}, err
	}
	if len(result.conflicts) == 0 {
		if err := v.maySave(ctx, w, c); err != nil {
			return Plan{}, err
		}
	}
	plan := Plan{PlanID: c.facts().id(), Operation: "resolve", RepositoryID: c.repository.ID, Version: c.Version, Commit: c.Commit, DryRun: true, Conflicts: result.conflicts}
	plan.fill(c.local.side, result.side)
	return plan, nil
}

// maySave refuses what the settling of a conflict would be refused for once it writes to the repository.
func (v *Versioning) maySave(ctx context.Context, w workspaces.Workspace, c conflicted) error {
	leave, err := v.Look()
	if err != nil {
		return err
	}
	defer leave()
	other, err := v.open(ctx, w, c.repository)
	if err != nil {
		return err
	}
	known, err := v.common(ctx, v.DB, w.ID, c.repository)
	if err != nil {
		return err
	}
	if b, ok := other.(*branch); ok && writable(c.repository) && known.Saved != "" {
		_, err = c.unmoved(ctx, b, known.Saved)
	}
	return err
}

// fill lists the documents that change. The index and the security are never deleted.
func (p *Plan) fill(from, to side) {
	p.Created, p.Updated, p.Deleted, p.Conflicts = []string{}, []string{}, []string{}, orEmpty(p.Conflicts)
	for _, path := range to.paths() {
		if same(from, to, path) {
			continue
		}
		if _, there := from[path]; there {
			p.Updated = append(p.Updated, path)
		} else {
			p.Created = append(p.Created, path)
		}
	}
	for _, path := range from.paths() {
		if _, there := to[path]; !there && path != string(dsul.Index) && path != string(dsul.Security) {
			p.Deleted = append(p.Deleted, path)
		}
	}
}
