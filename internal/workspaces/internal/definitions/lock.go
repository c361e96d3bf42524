package definitions

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Locked says that somebody else holds the write lock.
func Locked(lock workspaces.Lock) error {
	message := "The workspace is locked while an operation runs; try again when it has ended."
	switch lock.Reason {
	case workspaces.MergeConflict:
		message = "The workspace is locked by a merge conflict; settle it with conflicts/resolve, or in the repository and pull again, or clear the lock."
	case ManualLock:
		message = "The workspace is locked; whoever may manage its security can clear the lock."
	}
	failure := errs.New(errs.Locked, message).With("reason", lock.Reason).With("lockedAt", lock.At).With("lockedBy", lock.By)
	if !lock.Until.IsZero() {
		failure = failure.With("expiresAt", lock.Until)
	}
	return failure
}

// lost says that the lock went to somebody else while the operation was running.
func lost() error {
	return errs.New(errs.Conflict, "The operation lost its lock: it was cleared or expired. Nothing was changed; start it again.").
		WithStatus(http.StatusConflict)
}

// ManualLock is the reason of a lock that somebody sets without saying why.
const ManualLock = "manual"

// SetLock locks a workspace for a caller that may manage its security. Setting the lock that the same caller has set for
// the same reason begins it anew; any other lock is in the way.
func (d *Definitions) SetLock(ctx context.Context, ref, reason string) (lock workspaces.Lock, err error) {
	if reason == "" {
		reason = ManualLock
	}
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		w, err := d.hold(ctx, tx, ref)
		if err != nil {
			return err
		}
		if held := w.Lock; held.Held(d.Clock.Now()) && (held.By != Author(ctx) || held.Reason != reason) {
			return Locked(held)
		}
		lock = d.newLock(ctx, reason)
		if lock.Epoch, err = store.SetLock(ctx, tx, w.ID, lock); err != nil {
			return err
		}
		return d.audit(ctx, tx, w.ID, lockAct(catalogue.Set, w, lock))
	})
	return lock, err
}

// ClearLock unlocks a workspace for a caller that may manage its security: an operation that still runs cannot write any more.
func (d *Definitions) ClearLock(ctx context.Context, ref string) (id string, err error) {
	err = d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		w, err := d.hold(ctx, tx, ref)
		if err != nil {
			return err
		}
		id = w.ID
		if w.Lock.Reason == "" {
			return nil
		}
		if _, err := store.SetLock(ctx, tx, w.ID, workspaces.Lock{}); err != nil {
			return err
		}
		if err := store.DeleteConflict(ctx, tx, w.ID); err != nil { // whoever clears the lock dismisses it
			return err
		}
		return d.audit(ctx, tx, w.ID, lockAct(catalogue.Cleared, w, w.Lock))
	})
	return id, err
}

// hold reads a workspace for changing it, for a caller that may manage its security.
func (d *Definitions) hold(ctx context.Context, tx *sqldb.Tx, ref string) (workspaces.Workspace, error) {
	v, err := d.Door.May(ctx, tx, ref, access.ActionManageSecurity)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	return held(ctx, tx, v.Workspace.ID)
}

// held reads a workspace for changing it; one that was deleted a moment ago is resource_not_found.
func held(ctx context.Context, tx *sqldb.Tx, id string) (workspaces.Workspace, error) {
	w, err := store.Hold(ctx, tx, id)
	if sqldb.IsNotFound(err) {
		return w, errs.Missing("workspaces", id)
	}
	return w, err
}

// newLock is a lock that the caller takes now. One for a merge conflict never expires.
func (d *Definitions) newLock(ctx context.Context, reason string) workspaces.Lock {
	lock := workspaces.Lock{Reason: reason, By: Author(ctx), At: d.Now()}
	if reason != workspaces.MergeConflict {
		lock.Until = lock.At.Add(d.LockTimeout)
	}
	return lock
}

func lockAct(what catalogue.Verb, w workspaces.Workspace, lock workspaces.Lock) envelope.Act {
	return envelope.Act{
		TargetType: access.SubjectWorkspaces, TargetID: w.ID,
		Payload: &catalogue.WriteLock{Verb: what, WriteLock: catalogue.Lock{Reason: lock.Reason, LockedBy: lock.By, LockedAt: lock.At}},
	}
}
