package definitions

import (
	"context"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// leaseTime is how long an operation is believed to live without a sign of it.
const leaseTime = 8 * time.Second

// Operation is something long that holds the write lock of a workspace: an import, a pull, a push.
type Operation struct {
	ID        string
	Workspace workspaces.Workspace
	// Epoch is that of its lock; edits of the operation name it in their Purpose.
	Epoch int64

	d *Definitions
}

// Begin takes the write lock of a workspace for an operation, whose kind is the lock's reason. Whoever begins one ends it:
// with Complete in the transaction of its last edit, or with Abandon.
func (d *Definitions) Begin(ctx context.Context, workspaceID, reason string) (op *Operation, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		w, err := store.Hold(ctx, tx, workspaceID)
		if sqldb.IsNotFound(err) {
			return errs.Missing("workspaces", workspaceID)
		}
		if err != nil {
			return err
		}
		if w.Lock.Held(d.Clock.Now()) {
			return Locked(w.Lock)
		}
		op = &Operation{ID: d.IDs.UUID(), d: d}
		w.Lock = d.newLock(ctx, reason)
		if op.Epoch, err = store.SetLock(ctx, tx, w.ID, w.Lock); err != nil {
			return err
		}
		w.Lock.Epoch, op.Workspace = op.Epoch, w
		return store.PutOperation(ctx, tx, store.Operation{
			ID: op.ID, WorkspaceID: w.ID, Kind: reason, Epoch: op.Epoch, StartedAt: w.Lock.At, StartedBy: w.Lock.By, LeaseUntil: w.Lock.At.Add(leaseTime),
		})
	})
	return op, err
}

// Complete releases the lock in the transaction of the operation's last edit.
func (op *Operation) Complete(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := store.DeleteOperation(ctx, tx, op.ID); err != nil {
		return err
	}
	_, err := store.SetLock(ctx, tx, op.Workspace.ID, workspaces.Lock{})
	return err
}

// Abandon releases the lock of an operation that did not complete. The lock that somebody else has taken since stays.
func (op *Operation) Abandon(ctx context.Context) error {
	return op.d.release(context.WithoutCancel(ctx), store.Operation{ID: op.ID, WorkspaceID: op.Workspace.ID, Epoch: op.Epoch})
}

func (d *Definitions) release(ctx context.Context, o store.Operation) error {
	return d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		// The workspace first, as every edit does: an operation that is just ending is waited for, not crossed.
		w, err := store.Hold(ctx, tx, o.WorkspaceID)
		gone := sqldb.IsNotFound(err) // it was deleted meanwhile
		if err != nil && !gone {
			return err
		}
		known, err := store.DeleteOperation(ctx, tx, o.ID)
		if err != nil || !known || gone || w.Lock.Epoch != o.Epoch {
			return err
		}
		if _, err = store.SetLock(ctx, tx, w.ID, workspaces.Lock{}); err != nil {
			return err
		}
		if o.Kind == "" {
			return nil // given up by whoever ran it, who tells of it
		}
		return d.Emit(ctx, tx, w.ID, "error", map[string]any{
			"type": "operationLost", "message": "An operation was interrupted and has been rolled back; start it again.",
			"details": map[string]any{"operation": o.Kind, "startedAt": o.StartedAt, "startedBy": o.StartedBy},
		})
	})
}

// Recover rolls back the operations whose process is gone: nothing of them was stored, so releasing their lock is all.
// With alone, this process has the database for itself, and every operation it finds is one of a process that is gone.
func (d *Definitions) Recover(ctx context.Context, alone bool) error {
	before := d.Now()
	if alone {
		before = before.Add(2 * leaseTime)
	}
	lostOnes, err := store.LostOperations(ctx, d.DB, before)
	if err != nil {
		return errs.Wrap(err, "look for lost operations")
	}
	for _, o := range lostOnes {
		if err := d.release(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
