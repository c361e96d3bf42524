package versioning

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// How often lost operations are looked for, and how long finding out about one may take.
const (
	recoverEvery = 2 * time.Second
	askingTime   = 30 * time.Second
)

// Run recovers operations of processes that are gone until the context ends. It then ends the operations of this process.
func (v *Versioning) Run(ctx context.Context) error {
	defer v.Stop()
	maintained := v.Clock.Now()
	for {
		if err := v.Recover(ctx); err != nil && ctx.Err() == nil {
			v.Log.WarnContext(ctx, "interrupted pushes could not be recovered", "error", err)
		}
		if now := v.Clock.Now(); now.Sub(maintained) >= maintainEvery {
			maintained = now
			if err := v.Maintain(ctx); err != nil {
				v.Log.WarnContext(ctx, "clones could not be packed", "error", err)
			}
		}
		timer := v.Clock.NewTimer(recoverEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Orphan tells that this process has the database for itself: the leases of operations that it finds are over.
func (v *Versioning) Orphan(ctx context.Context) error {
	return v.DB.Tx(ctx, func(tx *sqldb.Tx) error { return store.EndLeases(ctx, tx) })
}

// Recover finds out what became of pushes whose process is gone: the repository is asked whether the commit has arrived. When
// it has, the push is recorded as it would have been; otherwise it is rolled back.
func (v *Versioning) Recover(ctx context.Context) error {
	lost, err := v.Definitions.Lost(ctx, false)
	if err != nil {
		return err
	}
	for _, o := range lost {
		if o.Plan != "" && o.Kind == Pulling { // what it saved elsewhere may stay there
			if err := v.Definitions.RollBack(ctx, o); err != nil {
				return err
			}
		}
		if o.Plan == "" || o.Kind != Pushing {
			continue
		}
		var mine bool
		err := v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			mine, err = store.ClaimOperation(ctx, tx, o, v.Definitions.Now().Add(askingTime))
			return err
		})
		if err != nil {
			return err
		}
		if mine {
			if err := v.recoverPush(ctx, o); err != nil && ctx.Err() == nil {
				v.Log.WarnContext(ctx, "an interrupted push could not be recovered", "workspace", o.WorkspaceID, "error", err)
			}
		}
	}
	return nil
}

func (v *Versioning) recoverPush(ctx context.Context, o store.Operation) error {
	ctx, cancel := context.WithTimeout(v.as(ctx, o.StartedBy), askingTime)
	defer cancel()
	var plan pushPlan
	if err := json.Unmarshal([]byte(o.Plan), &plan); err != nil {
		return v.Definitions.RollBack(ctx, o)
	}
	w, err := store.Get(ctx, v.DB, o.WorkspaceID)
	if sqldb.IsNotFound(err) {
		return v.Definitions.RollBack(ctx, o)
	}
	if err != nil {
		return err
	}
	repository, err := v.repository(ctx, v.DB, w, o.RepositoryID)
	if errs.CodeOf(err) == errs.NotFound {
		return v.Definitions.RollBack(ctx, o)
	}
	if err != nil {
		return v.givenUp(ctx, o, err)
	}
	other, err := v.open(ctx, w, repository)
	if err != nil {
		return v.givenUp(ctx, o, err)
	}
	arrived, err := other.arrived(ctx, plan.planned)
	if err != nil {
		return v.givenUp(ctx, o, err)
	}
	if !arrived {
		return v.Definitions.RollBack(ctx, o)
	}
	op := v.Definitions.Resume(o, w)
	run := &run{op: op, repository: repository, by: o.StartedBy, progress: v.progress(op, "push", repository.ID, repository.Branch)}
	if _, err = v.recordPush(ctx, run, plan); errs.CodeOf(err) == errs.Conflict {
		return v.Definitions.RollBack(ctx, o) // somebody cleared its lock: the next pull finds that both have the same
	}
	return err
}

// givenUp rolls a push back that nobody could find out about before its lock expired. The next push or pull finds the commit
// on the branch when it is there: it is seen as a change to pull, and nothing is lost.
func (v *Versioning) givenUp(ctx context.Context, o store.Operation, cause error) error {
	if v.Clock.Now().Before(o.StartedAt.Add(v.Definitions.LockTimeout)) {
		return cause
	}
	return v.Definitions.RollBack(ctx, o)
}

// as acts for whoever started an operation.
func (v *Versioning) as(ctx context.Context, userID string) context.Context {
	principal, err := v.People.Principal(ctx, v.DB, userID)
	if err != nil {
		principal = access.Principal{UserID: userID}
	}
	return access.With(ctx, principal)
}

// Operations lists the operations of a workspace that the caller may read, the newest first.
func (v *Versioning) Operations(ctx context.Context, ref string, limit int) ([]store.Operation, error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	return store.Operations(ctx, v.DB, visit.Workspace.ID, limit)
}

// Operation reads one operation of a workspace that the caller may read.
func (v *Versioning) Operation(ctx context.Context, ref, id string) (store.Operation, error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionRead)
	if err != nil {
		return store.Operation{}, err
	}
	found, err := store.GetOperation(ctx, v.DB, visit.Workspace.ID, id)
	if sqldb.IsNotFound(err) {
		return found, errs.Missing("operations", id)
	}
	return found, err
}

// maintainEvery is how often clones are packed anew.
const maintainEvery = time.Hour

// Maintain packs the clones anew that have grown many small parts.
func (v *Versioning) Maintain(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(v.Folder, "clones", "*.git"))
	if err != nil || v.Git == nil {
		return err
	}
	for _, folder := range folders {
		clone, err := v.Git.Repository(ctx, folder)
		if err == nil {
			err = clone.Maintain(ctx)
		}
		if err != nil && ctx.Err() == nil {
			v.Log.WarnContext(ctx, "a clone could not be packed; it is only a cache and may be removed", "error", err)
		}
	}
	return nil
}
