package versioning

import (
	"context"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// notePlan stores what is about to be sent, before it is.
func (v *Versioning) notePlan(ctx context.Context, p *pushing, prepared planned, at time.Time) error {
	p.plan = pushPlan{
		planned: prepared, Revision: p.local.workspace.ContentRevision, Name: p.Name, Description: p.Description, Before: p.known.Sync, At: at,
		Changes: changesOf(p.known.base, p.local.side),
	}
	p.plan.Before.RepositoryID, p.plan.Before.Place = p.run.repository.ID, p.run.repository.Fingerprint()
	err := v.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if p.plan.Base, err = keep(ctx, tx, p.run.op.Workspace.ID, p.local.side); err != nil {
			return err
		}
		return store.PutVersion(ctx, tx, p.run.op.Workspace.ID, store.Version{
			Kind: store.Planned, Name: p.run.op.ID, Tree: p.plan.Base, CreatedAt: at, CreatedBy: definitions.Author(ctx),
		})
	})
	if err != nil {
		return err
	}
	err = p.run.op.Plan(ctx, p.plan)
	failpoint.At("push.planned")
	return err
}

// recordPush stores that a push has arrived.
func (v *Versioning) recordPush(ctx context.Context, run *run, plan pushPlan) (any, error) {
	id := run.op.Workspace.ID
	made := Pushed{
		Name: plan.Name, Description: plan.Description, CreatedAt: plan.At, CreatedBy: run.by, Repository: RepositoryChoice{run.repository.ID}, Commit: plan.Commit,
	}
	run.progress.note("push:done", "The repository has version "+plan.Name)
	err := v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := run.op.Complete(ctx, tx, made); err != nil {
			return err
		}
		next := plan.Before
		next.Commit, next.Tree, next.Saved, next.Base, next.Previous, next.PulledRevision, next.Current = plan.Commit, plan.Tree, plan.Commit, plan.Base, "", 0, true
		next.Drift, next.CheckedAt = InSync, v.Definitions.Now()
		if err := store.PutSync(ctx, tx, id, next, plan.At, run.by); err != nil {
			return err
		}
		if err := v.keepPushed(ctx, tx, run, plan); err != nil {
			return err
		}
		sync := &workspaces.Sync{CreatedAt: plan.At, CreatedBy: run.by, Version: plan.Name, RepositoryID: run.repository.ID}
		if err := store.SetPushed(ctx, tx, id, plan.Revision, sync); err != nil {
			return err
		}
		if err := run.progress.store(ctx, tx); err != nil {
			return err
		}
		return v.Definitions.Emit(ctx, tx, id, &catalogue.VersionPublished{Version: made.told(), Changes: plan.Changes})
	})
	failpoint.At("push.recorded")
	return made, err
}

// mostPushed is how many pushed versions are remembered.
const mostPushed = 100

// keepPushed remembers a version that was pushed.
func (v *Versioning) keepPushed(ctx context.Context, tx *sqldb.Tx, run *run, plan pushPlan) error {
	id := run.op.Workspace.ID
	version := store.Version{
		Kind: store.Remote, Name: plan.Name, Description: string(plan.Description), Tree: plan.Base, Revision: plan.Revision, CreatedAt: plan.At, CreatedBy: run.by,
		RepositoryID: run.repository.ID,
	}
	if err := store.PutVersion(ctx, tx, id, version); err != nil {
		return err
	}
	version.Kind, version.Name = store.Pushed, ""
	if err := store.PutVersion(ctx, tx, id, version); err != nil {
		return err
	}
	if _, err := store.DeleteVersion(ctx, tx, id, store.Planned, run.op.ID); err != nil {
		return err
	}
	all, err := store.Versions(ctx, tx, id, store.Remote)
	if err != nil {
		return err
	}
	for i := mostPushed; i < len(all); i++ {
		if _, err := store.DeleteVersion(ctx, tx, id, store.Remote, all[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// changes is what events say of the documents of a push.
type changes struct {
	Files   []string `json:"files"`
	Created []string `json:"created"`
	Deleted []string `json:"deleted"`
	Summary struct {
		Changes int `json:"changes"`
	} `json:"summary"`
}

// mostShown is how many documents events name.
const mostShown = 400

func changesOf(from, to side) changes {
	c := changes{Files: []string{}, Created: []string{}, Deleted: []string{}}
	for _, path := range to.paths() {
		if same(from, to, path) {
			continue
		}
		c.Files = append(c.Files, path)
		if _, there := from[path]; !there {
			c.Created = append(c.Created, path)
		}
	}
	for _, path := range from.paths() {
		if _, there := to[path]; !there {
			c.Deleted = append(c.Deleted, path)
		}
	}
	c.Summary.Changes = len(c.Files) + len(c.Deleted)
	for _, list := range []*[]string{&c.Files, &c.Created, &c.Deleted} {
		*list = (*list)[:min(len(*list), mostShown)]
	}
	return c
}
