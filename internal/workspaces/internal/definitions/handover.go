package definitions

import (
	"context"
	"errors"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// ErrTaken says that somebody else goes on with an operation already.
var ErrTaken = errors.New("somebody else goes on with the operation")

// LostLock says that the lock of an operation went to somebody else.
func LostLock() error { return lost() }

// Continue gives an operation whose process is gone to the caller, in a transaction that does more. Its lock changes hands, so
// that its old process cannot write even if it wakes up. ErrTaken when somebody else was faster; when the lock was cleared or
// went to somebody else, the error of a lost lock.
func (d *Definitions) Continue(ctx context.Context, tx *sqldb.Tx, o store.Operation) (*Operation, error) {
	w, err := held(ctx, tx, o.WorkspaceID)
	if err != nil {
		return nil, err
	}
	mine, err := store.ClaimOperation(ctx, tx, o, d.Now().Add(leaseTime))
	if err != nil {
		return nil, err
	}
	if !mine {
		return nil, ErrTaken
	}
	op := &Operation{ID: o.ID, Workspace: w, Epoch: o.Epoch, StartedAt: o.StartedAt, d: d}
	if w.Lock.Epoch != o.Epoch {
		return op, lost()
	}
	w.Lock.Until = d.Now().Add(d.LockTimeout)
	if op.Epoch, err = store.SetLock(ctx, tx, w.ID, w.Lock); err != nil {
		return nil, err
	}
	w.Lock.Epoch, op.Workspace = op.Epoch, w
	return op, store.FenceOperation(ctx, tx, op.ID, op.Epoch)
}

// Extend refuses to go on when the lock went to somebody else, and otherwise lengthens it: an operation of many steps is not
// slow as long as it takes steps.
func (op *Operation) Extend(ctx context.Context, tx *sqldb.Tx) error {
	if err := op.check(ctx, tx); err != nil {
		return err
	}
	return store.ExtendLock(ctx, tx, op.Workspace.ID, op.d.Now().Add(op.d.LockTimeout))
}

// HandOver lets somebody else go on with the operation at once.
func (op *Operation) HandOver(ctx context.Context) error {
	return op.d.DB.Tx(ctx, func(tx *sqldb.Tx) error { return store.EndLease(ctx, tx, op.ID, op.Epoch) })
}

// AbandonIn is Abandon in a transaction that does more.
func (op *Operation) AbandonIn(ctx context.Context, tx *sqldb.Tx, failure error) error {
	previous, err := lockText(op.Over)
	if err != nil {
		return err
	}
	_, err = op.d.releaseIn(ctx, tx, store.Operation{ID: op.ID, WorkspaceID: op.Workspace.ID, Epoch: op.Epoch, Previous: previous}, failure)
	return err
}
