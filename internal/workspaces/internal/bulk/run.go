package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// running is a bulk operation that this process works on.
type running struct {
	row        store.Bulk
	options    Options
	repository repositories.Repository
	op         *definitions.Operation
	shared     *versioning.Shared
	items      []item
	outcomes   []*outcome // nil until it is known
	feed       *feed
	answer     *answer // nil when nobody waits
	// resumed tells that somebody else has worked on it.
	resumed bool
	// failing counts the workspaces in a row for which the repository could not be used; down is why, once it is plain.
	failing int
	down    error
}

// grace is how long a workspace may take when the process is asked to end; less than a lease.
const grace = 5 * time.Second

// carryOut does all of a bulk operation. When the process is asked to end, it leaves the rest to another.
func (b *Bulk) carryOut(ctx context.Context, r *running) (any, error) {
	kept, stop := r.op.Keep(ctx)
	err := b.work(ctx, kept, r)
	lost := context.Cause(kept)
	stop()
	if r.shared != nil {
		defer r.shared.Close(context.WithoutCancel(ctx))
	}
	switch {
	case err == nil:
		return b.finish(ctx, r)
	case ctx.Err() != nil:
		return nil, errors.Join(handedOver(), r.op.HandOver(context.WithoutCancel(ctx)))
	case lost != nil || isLost(err):
		return b.lost(ctx, r)
	case !r.row.Listed:
		return nil, b.refusal(ctx, r, err)
	default: // the database, or the repository that was opened before, does not answer: when the lease is over, somebody tries again
		b.Log.WarnContext(ctx, "a bulk operation was interrupted; it is taken up again", "operation", r.row.ID, "error", err)
		return nil, handedOver()
	}
}

// errHandedOver says that another process goes on with an operation.
var errHandedOver = errors.New("another process goes on with the bulk operation")

func handedOver() error {
	return errs.New(errs.Unavailable, "The process ends; another one goes on with the operation.").Because(errHandedOver)
}

// errLost says that somebody else goes on with an operation, or that nobody may.
var errLost = errors.New("the bulk operation belongs to somebody else")

func isLost(err error) bool { return errors.Is(err, errLost) }

// work freezes the workspaces unless that is done, and deals with one after another.
func (b *Bulk) work(ctx, kept context.Context, r *running) (err error) {
	if r.shared, err = b.Versioning.Share(kept, r.repository); err != nil {
		return err
	}
	if !r.row.Listed {
		found, err := b.list(kept, r.options, r.shared)
		if err != nil {
			return err
		}
		if err := b.freeze(kept, r, found); err != nil {
			return b.asLost(err)
		}
	} else if err := b.reopen(kept, r); err != nil {
		return err
	}
	r.feed.list()
	failpoint.At("bulk.listed")
	todo := r.todo()
	for n, i := range todo {
		if r.outcomes[i] != nil {
			continue
		}
		if kept.Err() != nil {
			return kept.Err()
		}
		came, err := b.one(ctx, kept, r, i)
		if err != nil {
			return err
		}
		failpoint.At("bulk.done")
		if err := b.record(kept, r, i, came, progressOf{current: n + 1, total: len(todo)}); err != nil {
			r.outcomes[i] = &came // it was done all the same
			return b.asLost(err)
		}
		failpoint.At("bulk.recorded")
	}
	return nil
}

// todo are the positions of the workspaces to which anything is done.
func (r *running) todo() (positions []int) {
	for i, one := range r.items {
		if one.Status == "" || one.Status == Candidate {
			positions = append(positions, i)
		}
	}
	return positions
}

// reopen sees the repository again as it was when the workspaces were frozen.
func (b *Bulk) reopen(ctx context.Context, r *running) error {
	var slugs []string
	for i, one := range r.items {
		if r.outcomes[i] == nil && workspaces.ValidSlug(one.Slug) {
			slugs = append(slugs, one.Slug)
		}
	}
	if len(slugs) == 0 {
		return nil
	}
	if _, err := r.shared.Look(ctx, slugs, r.options.Name); err != nil {
		return err
	}
	if r.options.Kind == Importing {
		return r.shared.Pin(ctx, r.row.Source)
	}
	return nil
}

// one deals with one workspace. An error means that nothing is known of it, and that the operation cannot go on here.
func (b *Bulk) one(ctx, kept context.Context, r *running, i int) (outcome, error) {
	began := b.Clock.Now()
	ctx, cancel := b.graceful(ctx, kept)
	defer cancel()
	came := r.items[i].begun()
	acting, err := b.stillMay(ctx)
	switch {
	case isRefusal(err):
		came = came.fail(errs.New(errs.PermissionDenied, "The account that started this is not there any more."))
	case err != nil:
		return came, err
	case r.items[i].Wrong != nil:
		came.Status, came.Errors = Failed, []errs.Shown{*r.items[i].Wrong}
	case r.down != nil:
		came = came.fail(r.down)
	default:
		came, err = b.deal(acting, r, i, came)
	}
	if err != nil && (kept.Err() != nil || ctx.Err() != nil) {
		return came, err // nobody has said no: it is tried again
	}
	if err != nil {
		came = came.fail(err)
	}
	r.watch(err)
	came.Duration = b.since(began)
	return came, nil
}

// deal pushes or imports a workspace, or finds that somebody has before the operation was taken over.
func (b *Bulk) deal(ctx context.Context, r *running, i int, came outcome) (outcome, error) {
	if r.options.Kind == Pushing {
		return b.push(ctx, r, i, came)
	}
	return b.bring(ctx, r, i, came)
}

// enough is how many workspaces in a row may find that the repository cannot be used until the others need not try.
const enough = 3

// watch notices that the repository is gone.
func (r *running) watch(err error) {
	problem, ok := errors.AsType[*gitcmd.Problem](err)
	if !ok || problem.Kind != gitcmd.Unreachable && problem.Kind != gitcmd.TimedOut && problem.Kind != gitcmd.Denied {
		r.failing = 0
		return
	}
	if r.failing++; r.failing >= enough {
		r.down = err
	}
}

// graceful gives a workspace that is being dealt with some time to end when the process does; none when the lock was lost.
func (b *Bulk) graceful(ctx, kept context.Context) (context.Context, context.CancelFunc) {
	gentle, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	stop := context.AfterFunc(kept, func() {
		defer close(ended)
		if ctx.Err() != nil {
			timer := b.Clock.NewTimer(grace)
			defer timer.Stop()
			select {
			case <-timer.C():
			case <-gentle.Done():
			}
		}
		cancel()
	})
	return gentle, func() {
		cancel()
		if !stop() {
			<-ended
		}
	}
}

// operationID is that of dealing with a workspace: whoever takes over knows the earlier ones.
func (r *running) operationID(position, attempt int) string {
	return fmt.Sprintf("%s-%d-%d", r.row.ID, position, attempt)
}

// earlier looks whether somebody who worked on this before has dealt with the workspace, and waits until that is known.
func (b *Bulk) earlier(ctx context.Context, r *running, i int, into any) (bool, error) {
	if !r.resumed {
		return false, nil
	}
	until := b.Clock.Now().Add(patience)
	for attempt := 0; attempt < r.row.Resumed; {
		result, succeeded, undecided, err := b.Versioning.Done(ctx, r.items[i].WorkspaceID, r.operationID(i, attempt))
		switch {
		case err != nil:
			return false, err
		case succeeded:
			return true, json.Unmarshal([]byte(result), into)
		case undecided && b.Clock.Now().Before(until):
			if !b.pause(ctx, time.Second) {
				return false, ctx.Err()
			}
		default:
			attempt++
		}
	}
	return false, nil
}

// patience is how long the outcome of an interrupted push is waited for: as long as asking the repository may take.
const patience = 45 * time.Second

func (b *Bulk) pause(ctx context.Context, d time.Duration) bool {
	timer := b.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// push pushes a workspace.
func (b *Bulk) push(ctx context.Context, r *running, i int, came outcome) (outcome, error) {
	var before versioning.Pushed
	done, err := b.earlier(ctx, r, i, &before)
	if done || err != nil {
		came.Status = Pushed
		return came, err
	}
	visit, err := b.Door.May(ctx, b.DB, r.items[i].WorkspaceID, access.ActionUpdate)
	if err != nil {
		return came, err
	}
	_, err = r.shared.Push(ctx, visit.Workspace, r.operationID(i, r.row.Resumed), versioning.Push{
		RepositoryID: r.repository.ID, Name: r.options.Name, Description: r.options.Description,
	})
	came.Status = Pushed
	return came, err
}

// progressOf is how far an operation is.
type progressOf struct{ current, total int }

// record keeps what came of a workspace, and tells of it.
func (b *Bulk) record(ctx context.Context, r *running, i int, came outcome, at progressOf) error {
	ctx = context.WithoutCancel(ctx)
	text, err := json.Marshal(came)
	if err != nil {
		return err
	}
	progress := r.progress(came, at)
	err = b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := r.op.Extend(ctx, tx); err != nil {
			return err
		}
		news, err := store.PutOutcome(ctx, tx, r.row, store.BulkItem{Position: i, Outcome: string(text)})
		if err == nil && !news {
			return errLost
		}
		if err != nil {
			return err
		}
		return b.emit(ctx, tx, &catalogue.BulkProgress{Bulk: catalogue.Bulk(r.options.operation())}, progress)
	})
	if err != nil {
		return err
	}
	r.outcomes[i] = &came
	r.op.Step(fmt.Sprintf("%d/%d", at.current, at.total))
	r.feed.tell(progress)
	return nil
}

func (r *running) progress(o outcome, at progressOf) Progress {
	p := Progress{
		RepositoryID: r.options.RepositoryID, WorkspaceSlug: o.Slug, WorkspaceID: o.WorkspaceID, WorkspaceName: o.Name, Status: o.Status, Duration: o.Duration,
		Errors: o.Errors, Current: at.current, Total: at.total, Percentage: at.current * 100 / max(1, at.total), OperationID: r.row.ID,
	}
	if r.options.Kind == Importing {
		p.ImportedFilesCount, p.DeletedFilesCount = &o.Imported, &o.Deleted
	}
	return p
}

// asLost tells an error of whoever lost the operation from all others.
func (b *Bulk) asLost(err error) error {
	if sqldb.IsNotFound(err) || errs.CodeOf(err) == errs.Conflict {
		return errors.Join(errLost, err)
	}
	return err
}

// finish ends the operation.
func (b *Bulk) finish(ctx context.Context, r *running) (any, error) {
	ctx = context.WithoutCancel(ctx)
	failpoint.At("bulk.finishing")
	done := b.completed(r, nil)
	err := b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := r.op.Complete(ctx, tx, done); err != nil {
			return err
		}
		return b.close(ctx, tx, r, done)
	})
	failpoint.At("bulk.finished")
	if isLost(b.asLost(err)) {
		return b.lost(ctx, r)
	}
	return done, err
}

// close ends the operation for whoever works on it, and tells of it: once, whoever tries.
func (b *Bulk) close(ctx context.Context, tx *sqldb.Tx, r *running, done any) error {
	mine, err := store.EndBulk(ctx, tx, r.row, b.Definitions.Now())
	if err == nil && !mine {
		return errLost
	}
	if err != nil {
		return err
	}
	return b.emit(ctx, tx, r.options.completedEvent(), done)
}

// lost ends an operation whose lock was cleared: what is left of it is not done. One that somebody else took over is theirs.
func (b *Bulk) lost(ctx context.Context, r *running) (any, error) {
	failure := definitions.LostLock()
	err := b.end(context.WithoutCancel(ctx), r, failure)
	if isLost(err) {
		return nil, handedOver()
	}
	return nil, errors.Join(failure, err)
}

// end ends an operation that cannot go on: the workspaces that are left have failed for the same reason.
func (b *Bulk) end(ctx context.Context, r *running, failure error) error {
	for i := range r.outcomes {
		if r.outcomes[i] == nil {
			came := r.items[i].begun().fail(failure)
			r.outcomes[i] = &came
		}
	}
	var whole error
	if len(r.outcomes) == 0 {
		whole = failure
	}
	done := b.completed(r, whole)
	return b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := b.close(ctx, tx, r, done); err != nil {
			return err
		}
		return r.op.AbandonIn(ctx, tx, failure)
	})
}
