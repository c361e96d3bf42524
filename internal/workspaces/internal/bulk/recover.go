package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// recoverEvery is how often operations are looked for whose process is gone.
const recoverEvery = 2 * time.Second

// mostStalled is how often an operation is taken up again without getting any further.
const mostStalled = 3

// Run goes on with bulk operations whose process is gone, and imports what is to be imported at the start, until the context
// ends.
func (b *Bulk) Run(ctx context.Context) error {
	var starting sync.WaitGroup
	starting.Go(func() { b.importAtStart(ctx) })
	defer starting.Wait()
	for {
		if err := b.Recover(ctx); err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "interrupted bulk operations could not be taken up again", "error", err)
		}
		if !b.pause(ctx, recoverEvery) {
			return nil
		}
	}
}

// Recover takes up the bulk operations whose process is gone.
func (b *Bulk) Recover(ctx context.Context) error {
	lost, err := b.Definitions.Lost(ctx, false)
	if err != nil {
		return err
	}
	for _, o := range lost {
		if o.Kind == Importing || o.Kind == Pushing {
			if err := b.takeUp(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeUp goes on with a bulk operation, or closes it when nobody can.
func (b *Bulk) takeUp(ctx context.Context, o store.Operation) error {
	r, err := b.take(ctx, o)
	if errors.Is(err, definitions.ErrTaken) || r == nil {
		return ignoring(err)
	}
	lockLost := err
	acting, err := b.acting(ctx, r.row)
	if err != nil && !isRefusal(err) {
		return err
	}
	if failure := b.hopeless(r, lockLost, err); failure != nil {
		if err := b.end(acting, r, failure); !isLost(err) {
			return err
		}
		return nil
	}
	_, err = b.Versioning.Go(acting, r.row.ID, func(ctx context.Context) (any, error) { return b.carryOut(ctx, r) })
	if err != nil {
		return errors.Join(err, r.op.HandOver(context.WithoutCancel(ctx)))
	}
	return nil
}

func ignoring(err error) error {
	if errors.Is(err, definitions.ErrTaken) {
		return nil
	}
	return err
}

// hopeless is why nobody can go on; nil when somebody can.
func (b *Bulk) hopeless(r *running, lockLost, gone error) error {
	repository, err := b.repository(r.row.RepositoryID)
	r.repository = repository
	switch {
	case lockLost != nil:
		return lockLost
	case gone != nil:
		return errs.New(errs.PermissionDenied, "The account that started this is not there any more.")
	case err != nil:
		return err
	case repository.Fingerprint() != r.row.Place:
		return errs.Newf(errs.Conflict, "The repository %q was configured anew while this was interrupted; start it again.", repository.ID).With("repositoryId", repository.ID)
	case r.row.Stalled > mostStalled:
		return errs.New(errs.Unavailable, "This was interrupted again and again without getting any further; start it again.")
	default:
		return nil
	}
}

// take makes a bulk operation ours. When its lock is gone it is given with the error that says so; nil when there is none.
func (b *Bulk) take(ctx context.Context, o store.Operation) (r *running, err error) {
	var lockLost error
	err = b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		op, err := b.Definitions.Continue(ctx, tx, o)
		if op == nil {
			return err
		}
		lockLost = err
		row, err := store.GetBulk(ctx, tx, o.ID)
		if sqldb.IsNotFound(err) || err == nil && row.Status != store.Running { // only its operation is left
			return op.AbandonIn(ctx, tx, definitions.Interrupted())
		}
		if err != nil {
			return err
		}
		row.Epoch = op.Epoch
		row.Resumed++
		row.Stalled++
		r = &running{row: row, op: op, feed: newFeed(), resumed: true}
		return store.TakeBulk(ctx, tx, row)
	})
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, nil //nolint:nilnil // there is no bulk operation to go on with
	}
	if err := b.load(ctx, r); err != nil {
		return nil, err
	}
	return r, lockLost
}

// load reads what was frozen, and what came of it so far.
func (b *Bulk) load(ctx context.Context, r *running) error {
	if err := json.Unmarshal([]byte(r.row.Options), &r.options); err != nil {
		return err
	}
	rows, err := store.BulkItems(ctx, b.DB, r.row.ID)
	if err != nil {
		return err
	}
	r.items, r.outcomes = make([]item, len(rows)), make([]*outcome, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal([]byte(row.Item), &r.items[i]); err != nil {
			return err
		}
		if row.Outcome == "" {
			continue
		}
		if err := json.Unmarshal([]byte(row.Outcome), &r.outcomes[i]); err != nil {
			return err
		}
	}
	return nil
}
