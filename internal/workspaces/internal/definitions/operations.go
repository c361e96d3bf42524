package definitions

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// leaseTime is how long an operation is believed to live without a sign of it.
const leaseTime = 8 * time.Second

// Start says what begins.
type Start struct {
	// ID is that of the operation; made up when empty.
	ID string
	// Plan is what it is about to do elsewhere, as JSON: an operation with one is not simply rolled back when its process is gone.
	Plan string
	// Reason is that of the lock, and the kind of the operation.
	Reason string
	// RepositoryID is the repository that it deals with; empty when there is none.
	RepositoryID string
	// Over is the reason of a lock that is no obstacle: the operation takes it over, and it comes back when the operation fails.
	Over string
}

// Operation is something long that holds the write lock of a workspace: an import, a pull, a push.
type Operation struct {
	ID        string
	Workspace workspaces.Workspace
	// Epoch is that of its lock; edits of the operation name it in their Purpose.
	Epoch int64
	// Over is the lock that it took over; its reason is empty when there was none.
	Over workspaces.Lock
	// StartedAt is when it began.
	StartedAt time.Time

	d    *Definitions
	step stepNote
}

// stepNote is what an operation is doing, as its lease says.
type stepNote struct {
	mu   sync.Mutex
	name string
}

func (n *stepNote) set(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name = name
}

func (n *stepNote) get() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

// Begin takes the write lock of a workspace for an operation. Whoever begins one ends it: with Complete in the transaction of
// its last edit, or with Abandon.
func (d *Definitions) Begin(ctx context.Context, workspaceID string, start Start) (op *Operation, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		op, err = d.BeginIn(ctx, tx, workspaceID, start)
		return err
	})
	return op, err
}

// BeginIn is Begin in a transaction that does more.
func (d *Definitions) BeginIn(ctx context.Context, tx *sqldb.Tx, workspaceID string, start Start) (*Operation, error) {
	w, err := held(ctx, tx, workspaceID)
	if err != nil {
		return nil, err
	}
	op := &Operation{ID: start.ID, d: d}
	if op.ID == "" {
		op.ID = d.IDs.UUID()
	}
	if w.Lock.Held(d.Clock.Now()) {
		if w.Lock.Reason != start.Over {
			return nil, Locked(w.Lock)
		}
		op.Over = w.Lock
	}
	w.Lock = d.newLock(ctx, start.Reason)
	if op.Epoch, err = store.SetLock(ctx, tx, w.ID, w.Lock); err != nil {
		return nil, err
	}
	w.Lock.Epoch, op.Workspace, op.StartedAt = op.Epoch, w, w.Lock.At
	previous, err := lockText(op.Over)
	if err != nil {
		return nil, err
	}
	return op, store.PutOperation(ctx, tx, store.Operation{
		ID: op.ID, WorkspaceID: w.ID, Kind: start.Reason, Epoch: op.Epoch, StartedAt: w.Lock.At, StartedBy: w.Lock.By,
		LeaseUntil: w.Lock.At.Add(leaseTime), RepositoryID: start.RepositoryID, Plan: start.Plan, Previous: previous,
	})
}

// Resume gives an operation whose process is gone to whoever finishes it.
func (d *Definitions) Resume(o store.Operation, w workspaces.Workspace) *Operation {
	return &Operation{ID: o.ID, Workspace: w, Epoch: o.Epoch, StartedAt: o.StartedAt, d: d}
}

// lockText is a lock as an operation remembers it; empty for none.
func lockText(lock workspaces.Lock) (string, error) {
	if lock.Reason == "" {
		return "", nil
	}
	text, err := json.Marshal(lock)
	return string(text), err
}

// Step notes what the operation is doing; whoever asks for it sees it with the next renewal of the lease.
func (op *Operation) Step(name string) { op.step.set(name) }

// Keep renews the lease of the operation until stop is called, which waits for the renewing to end. The context that it gives
// ends when the operation has lost its lock: context.Cause tells.
func (op *Operation) Keep(ctx context.Context) (kept context.Context, stop func()) {
	kept, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for op.pause(kept) {
			alive, err := op.renew(kept)
			if err == nil && !alive {
				cancel(lost())
				return
			} // a failure is tried again; when it lasts, the lease runs out and somebody else rolls the operation back
		}
	}()
	return kept, func() {
		cancel(nil)
		<-done
	}
}

func (op *Operation) pause(ctx context.Context) bool {
	timer := op.d.Clock.NewTimer(leaseTime / 4)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

func (op *Operation) renew(ctx context.Context) (alive bool, err error) {
	err = op.d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		alive, err = store.RenewOperation(ctx, tx, op.ID, op.step.get(), op.d.Now().Add(leaseTime))
		if err != nil || !alive {
			return err
		}
		w, err := store.Get(ctx, tx, op.Workspace.ID)
		alive = err == nil && w.Lock.Epoch == op.Epoch
		if sqldb.IsNotFound(err) {
			return nil
		}
		return err
	})
	return alive, err
}

// Plan notes what the operation is about to do elsewhere, before it does: whoever recovers it asks there whether it was done.
func (op *Operation) Plan(ctx context.Context, plan any) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return op.d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := op.check(ctx, tx); err != nil {
			return err
		}
		alive, err := store.PlanOperation(ctx, tx, op.ID, string(text), op.d.Now().Add(leaseTime))
		if err == nil && !alive {
			return lost()
		}
		return err
	})
}

// check refuses to go on when the lock went to somebody else.
func (op *Operation) check(ctx context.Context, tx *sqldb.Tx) error {
	w, err := held(ctx, tx, op.Workspace.ID)
	if err == nil && w.Lock.Epoch != op.Epoch {
		return lost()
	}
	return err
}

// Complete releases the lock in the transaction of the operation's last change, and keeps its result for those who ask.
func (op *Operation) Complete(ctx context.Context, tx *sqldb.Tx, result any) error {
	return op.end(ctx, tx, store.Succeeded, result, workspaces.Lock{})
}

// Block ends the operation by locking the workspace for a reason that somebody has to settle; failure is why.
func (op *Operation) Block(ctx context.Context, tx *sqldb.Tx, reason string, failure error) error {
	return op.end(ctx, tx, store.Failed, errs.From(failure).Show(), op.d.newLock(ctx, reason))
}

func (op *Operation) end(ctx context.Context, tx *sqldb.Tx, status string, result any, lock workspaces.Lock) error {
	if err := op.check(ctx, tx); err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	known, err := store.EndOperation(ctx, tx, op.ID, status, string(text), op.d.Now())
	if err != nil {
		return err
	}
	if !known {
		return lost()
	}
	_, err = store.SetLock(ctx, tx, op.Workspace.ID, lock)
	return err
}

// Abandon releases the lock of an operation that did not complete, and keeps why. The lock that somebody else has taken since
// stays; the one that the operation took over comes back.
func (op *Operation) Abandon(ctx context.Context, failure error) error {
	ctx = context.WithoutCancel(ctx)
	previous, err := lockText(op.Over)
	if err != nil {
		return err
	}
	o := store.Operation{ID: op.ID, WorkspaceID: op.Workspace.ID, Epoch: op.Epoch, Previous: previous}
	_, err = op.d.release(ctx, o, failure)
	return err
}

// release ends an operation without success, and tells whether it was running until now.
func (d *Definitions) release(ctx context.Context, o store.Operation, failure error) (was bool, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		was, err = d.releaseIn(ctx, tx, o, failure)
		return err
	})
	return was, err
}

func (d *Definitions) releaseIn(ctx context.Context, tx *sqldb.Tx, o store.Operation, failure error) (was bool, err error) {
	// The workspace first, as every edit does: an operation that is just ending is waited for, not crossed.
	w, err := store.Hold(ctx, tx, o.WorkspaceID)
	gone := sqldb.IsNotFound(err) // it was deleted meanwhile
	if err != nil && !gone {
		return false, err
	}
	text, err := json.Marshal(errs.From(failure).Show())
	if err != nil {
		return false, err
	}
	known, err := store.EndOperation(ctx, tx, o.ID, store.Failed, string(text), d.Now())
	if err != nil {
		return false, err
	}
	if _, err := store.DeleteVersion(ctx, tx, o.WorkspaceID, store.Planned, o.ID); err != nil { // what it was about to push
		return false, err
	}
	if !known || gone || w.Lock.Epoch != o.Epoch {
		return known, err
	}
	var before workspaces.Lock
	if o.Previous != "" {
		if err := json.Unmarshal([]byte(o.Previous), &before); err != nil {
			return false, err
		}
	}
	_, err = store.SetLock(ctx, tx, w.ID, before)
	return true, err
}

// Interrupted says that the process of an operation ended in the middle of it.
func Interrupted() error {
	return errs.New(errs.Unavailable, "The operation was interrupted and has been rolled back; start it again.")
}

// RollBack ends an operation whose process is gone, and tells of it.
func (d *Definitions) RollBack(ctx context.Context, o store.Operation) error {
	return d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		was, err := d.releaseIn(ctx, tx, o, Interrupted())
		if err != nil || !was {
			return err
		}
		return d.Emit(ctx, tx, o.WorkspaceID, &catalogue.Error{
			Type: "operationLost", Message: errs.From(Interrupted()).Message,
			Details: map[string]any{"operation": o.Kind, "operationId": o.ID, "startedAt": o.StartedAt, "startedBy": o.StartedBy},
		})
	})
}

// Lost lists the operations whose process is gone. With alone, this process has the database for itself, and every operation
// it finds is one of a process that is gone.
func (d *Definitions) Lost(ctx context.Context, alone bool) ([]store.Operation, error) {
	before := d.Now()
	if alone {
		before = before.Add(2 * leaseTime)
	}
	found, err := store.LostOperations(ctx, d.DB, before)
	return found, errs.Wrap(err, "look for lost operations")
}

// Recover rolls back the operations whose process is gone and that did nothing elsewhere: nothing of them was stored, so
// releasing their lock is all. Those with a plan are left to whoever can ask there.
func (d *Definitions) Recover(ctx context.Context, alone bool) error {
	found, err := d.Lost(ctx, alone)
	if err != nil {
		return err
	}
	for _, o := range found {
		if o.Plan != "" {
			continue
		}
		if err := d.RollBack(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
