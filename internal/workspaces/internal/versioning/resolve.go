package versioning

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Resolution settles one conflict.
type Resolution struct {
	Document string          `json:"document" minLength:"1" maxLength:"300" doc:"The document of the conflict."`
	Path     []string        `json:"path,omitempty" maxItems:"100" doc:"The path of the conflict; none for the whole document."`
	Take     string          `json:"take" enum:"ours,theirs,base,value" doc:"Which side it becomes: ours is the workspace, theirs the repository; value takes the one below."`
	Value    json.RawMessage `json:"value,omitempty" doc:"What it becomes; null deletes it."`
}

// Resolutions settle conflicts.
type Resolutions struct {
	Resolutions []Resolution `json:"resolutions,omitempty" maxItems:"10000" nullable:"false" doc:"How single conflicts are settled."`
	All         string       `json:"all,omitempty" enum:"ours,theirs" doc:"How all the others are settled."`
	DryRun      bool         `json:"dryRun,omitempty" doc:"Whether only the plan is wanted: nothing is settled."`
	PlanID      string       `json:"planId,omitempty" maxLength:"100" doc:"The plan that the settling has to be; it is refused when something changed since."`
}

// Resolved is what settling conflicts came to.
type Resolved struct {
	// Left are the conflicts that are open; the workspace stays locked while there are any.
	Left Conflicts
	// Job applies the merge when none are.
	Job *Job
}

// Resolve settles conflicts of a workspace that the caller may update. What is settled is kept; with the last one the merge is
// applied: written to the repository as a merge commit, imported, and the workspace is unlocked.
func (v *Versioning) Resolve(ctx context.Context, ref string, r Resolutions) (Resolved, error) {
	w, c, _, err := v.settled(ctx, ref, r)
	if err != nil {
		return Resolved{}, err
	}
	if err := v.planned(r.PlanID, c.facts()); err != nil {
		return Resolved{}, err
	}
	if err := v.keepChoices(ctx, w, c); err != nil {
		return Resolved{}, err
	}
	left, err := v.list(c)
	if err != nil || left.Open > 0 {
		return Resolved{Left: left}, err
	}
	job, err := v.start(ctx, w, c.repository, Resolving, workspaces.MergeConflict, func(ctx context.Context, run *run) (any, error) {
		return v.resolve(ctx, run)
	})
	return Resolved{Left: left, Job: job}, err
}

// settled reads the conflict of a workspace that the caller may update, with resolutions added, and merges with them. Nothing of it
// is kept yet.
func (v *Versioning) settled(ctx context.Context, ref string, r Resolutions) (w workspaces.Workspace, c conflicted, out merged, err error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionUpdate)
	if err != nil {
		return w, c, out, err
	}
	w = visit.Workspace
	if err := v.Definitions.ReadsAll(ctx, visit); err != nil { // what is left shows both sides
		return w, c, out, err
	}
	if w.Lock.Reason != workspaces.MergeConflict {
		if w.Lock.Held(v.Clock.Now()) {
			return w, c, out, definitions.Locked(w.Lock)
		}
		return w, c, out, errs.New(errs.NotFound, "The workspace has no conflicts.").With("subjectType", "conflicts")
	}
	if c, err = v.conflicted(ctx, w); err != nil {
		return w, c, out, err
	}
	if err = c.settle(r); err == nil {
		out, err = c.result()
	}
	return w, c, out, err
}

// settle adds resolutions to what was chosen before.
func (c *conflicted) settle(r Resolutions) error {
	all, err := c.merger(nil).merge()
	if err != nil {
		return err
	}
	var wrong []errs.Field
	for i, one := range r.Resolutions {
		chosen := choice{Document: one.Document, Path: orEmpty(one.Path), Take: one.Take, Value: one.Value}
		if !slices.ContainsFunc(all.conflicts, chosen.about) {
			wrong = append(wrong, errs.Field{Field: "resolutions[" + strconv.Itoa(i) + "]", Message: "there is no conflict at this place; see GET conflicts"})
			continue
		}
		if one.Take == takeValue && len(one.Value) == 0 {
			wrong = append(wrong, errs.Field{Field: "resolutions[" + strconv.Itoa(i) + "].value", Message: "give the value that it becomes; null deletes it"})
			continue
		}
		c.Choices = slices.DeleteFunc(c.Choices, func(old choice) bool { return old.Document == chosen.Document && slices.Equal(old.Path, chosen.Path) })
		c.Choices = append(c.Choices, chosen)
	}
	if len(wrong) > 0 {
		return errs.Invalid(wrong...)
	}
	if r.All == "" {
		return nil
	}
	for _, conflict := range all.conflicts {
		if !slices.ContainsFunc(c.Choices, func(one choice) bool { return one.about(conflict) }) {
			c.Choices = append(c.Choices, choice{Document: conflict.Document, Path: conflict.Path, Take: r.All})
		}
	}
	return nil
}

// result merges with what was chosen so far, and checks that every settled document can be read.
func (c *conflicted) result() (merged, error) {
	out, err := c.merger(c.Choices).merge()
	if err != nil {
		return out, err
	}
	var wrong []errs.Field
	for _, path := range documentsChosen(c.Choices) {
		f, there := out.side[path]
		if !there {
			continue
		}
		kind, slug, _ := dsul.SplitPath(path)
		doc, problems := dsul.Parse(kind, slug, f.text)
		if len(problems.Errors()) == 0 && doc != nil && doc.Root != nil {
			problems = doc.Check(dsul.Lenient)
		}
		for _, p := range problems.Errors() {
			wrong = append(wrong, errs.Field{Field: path + ": " + p.Path, Message: p.Message})
		}
	}
	if len(wrong) > 0 {
		return out, errs.Invalid(wrong...)
	}
	return out, nil
}

func documentsChosen(choices []choice) (paths []string) {
	for _, c := range choices {
		if !slices.Contains(paths, c.Document) {
			paths = append(paths, c.Document)
		}
	}
	return paths
}

// keepChoices stores what was chosen, unless the conflict is another one by now.
func (v *Versioning) keepChoices(ctx context.Context, w workspaces.Workspace, c conflicted) error {
	return v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		now, err := store.Hold(ctx, tx, w.ID)
		if err != nil {
			return err
		}
		stored, err := store.GetConflict(ctx, tx, w.ID)
		if sqldb.IsNotFound(err) || err == nil && (stored.CreatedAt != c.stored.CreatedAt || now.Lock.Epoch != w.Lock.Epoch) {
			return Stale()
		}
		if err != nil {
			return err
		}
		text, err := json.Marshal(c.dispute)
		if err != nil {
			return err
		}
		stored.Data = string(text)
		return store.PutConflict(ctx, tx, w.ID, stored)
	})
}

// resolve applies a merge of which every conflict is settled.
func (v *Versioning) resolve(ctx context.Context, run *run) (any, error) {
	w, err := store.Get(ctx, v.DB, run.op.Workspace.ID)
	if err != nil {
		return nil, err
	}
	c, err := v.conflicted(ctx, w)
	if err != nil {
		return nil, err
	}
	run.progress.step(ctx, "merge", "Merging as it was settled")
	result, err := c.result()
	if err != nil {
		return nil, err
	}
	if len(result.conflicts) > 0 {
		return nil, Stale()
	}
	p := &pulling{Pull: Pull{RepositoryID: run.repository.ID, Version: c.Version}, run: run, local: c.local, ours: c.ours, theirs: c.theirs, result: result, mergeBase: c.base}
	if p.known, err = v.common(ctx, v.DB, w.ID, run.repository); err != nil {
		return nil, err
	}
	p.before = p.known
	p.seen = sight{Commit: c.Commit, Tree: c.Tree, Intermediate: c.Saved}
	if err := v.publishMerge(ctx, p, c); err != nil {
		return nil, err
	}
	failpoint.At("resolve.saved")
	run.progress.step(ctx, "import", "Importing the documents")
	return v.importPull(ctx, p)
}

// publishMerge writes the merge commit, with both sides as its parents, to the intermediate branch.
func (v *Versioning) publishMerge(ctx context.Context, p *pulling, c conflicted) error {
	other, err := v.open(ctx, p.run.op.Workspace, p.run.repository)
	if err != nil {
		return err
	}
	p.other = other
	b, ok := other.(*branch)
	if !ok || !writable(p.run.repository) || p.known.Saved == "" {
		return nil
	}
	now, err := c.unmoved(ctx, b, p.known.Saved)
	if err != nil {
		return err
	}
	if p.seen, err = b.at(ctx, now, p.seen.Commit); err != nil {
		return err
	}
	p.run.progress.step(ctx, "push", "Saving the merge")
	commit, err := v.commitMerge(ctx, p, b, now.Intermediate)
	if err != nil {
		return err
	}
	c.Merges = append(slices.Clone(c.Merges), commit)
	if err := v.noteMerge(ctx, p.run, c); err != nil {
		return err
	}
	if err := b.save(ctx, now, commit); err != nil {
		return err
	}
	p.known.Saved = commit
	return nil
}

// unmoved sees where the branches are, and refuses when somebody worked on the intermediate branch since the workspace was saved there.
func (c conflicted) unmoved(ctx context.Context, b *branch, saved string) (sight, error) {
	now, err := b.look(ctx, latest, "")
	if err == nil && now.Intermediate != saved && !slices.Contains(c.Merges, now.Intermediate) {
		err = errs.Newf(errs.Conflict, "Somebody worked on %s meanwhile; pull again to take that up.", c.Intermediate).With("reason", "intermediate_moved")
	}
	return now, err
}

// noteMerge remembers the merge that is about to be written, so that it is known for ours when this process does not finish.
func (v *Versioning) noteMerge(ctx context.Context, run *run, c conflicted) error {
	text, err := json.Marshal(c.dispute)
	if err != nil {
		return err
	}
	c.stored.Data = string(text)
	return v.DB.Tx(ctx, func(tx *sqldb.Tx) error { return store.PutConflict(ctx, tx, run.op.Workspace.ID, c.stored) })
}
