package engine

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Delete puts a workspace into the bin and gives its id: nobody has access any more, its slug is free, and for a while it
// can be restored. Its events stay for their retention.
func (e *Engine) Delete(ctx context.Context, ref string) (id string, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.enter(ctx, tx, ref, access.ActionDelete)
		if err != nil {
			return err
		}
		w := v.Workspace
		if id = w.ID; id == access.PlatformWorkspace {
			return errs.New(errs.PermissionDenied, "The platform workspace cannot be deleted.")
		}
		if w.Lock.Held(e.Clock.Now()) {
			return definitions.Locked(w.Lock)
		}
		if err := store.Bin(ctx, tx, w, e.now(), definitions.Author(ctx)); err != nil {
			return err
		}
		if err := access.Park(ctx, tx, id); err != nil {
			return err
		}
		return e.Definitions.Emit(ctx, tx, id, &catalogue.WorkspaceDeleted{WorkspaceID: id, WorkspaceSlug: w.Slug, Name: w.Name})
	})
	return id, err
}

// Bin lists the deleted workspaces that the caller owned, or all of them for super admins.
func (e *Engine) Bin(ctx context.Context) ([]workspaces.Workspace, error) {
	caller := access.From(ctx)
	if caller.SuperAdmin {
		return store.ListBin(ctx, e.DB, "1 = 1")
	}
	return store.ListBin(ctx, e.DB, "id IN ("+access.ParkedOwner("$1")+")", access.TargetUser(caller.UserID))
}

// BinnedUntil is when a deleted workspace is removed for good.
func (e *Engine) BinnedUntil(w workspaces.Workspace) time.Time { return w.DeletedAt.Add(e.BinAge) }

// binned reads a deleted workspace that the caller owned. Anybody else is refused as at a workspace that does not exist.
func (e *Engine) binned(ctx context.Context, id string) (workspaces.Workspace, error) {
	mine, err := e.Bin(ctx)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	for _, w := range mine {
		if w.ID == id {
			return w, nil
		}
	}
	if _, err := e.may(ctx, e.DB, id, access.ActionDelete); err != nil {
		return workspaces.Workspace{}, err
	}
	return workspaces.Workspace{}, notBinned(id)
}

func notBinned(id string) error {
	return errs.New(errs.NotFound, "The workspace is not in the bin.").With("subjectType", "workspaces").With("id", id)
}

// Restore takes a workspace out of the bin, with everything it had. Its slug may be taken by now; then the caller chooses another.
func (e *Engine) Restore(ctx context.Context, id, slug string) (w workspaces.Workspace, err error) {
	if w, err = e.binned(ctx, id); err != nil {
		return w, err
	}
	if err := definitions.CheckSlug(slug); err != nil {
		return w, err
	}
	if slug == "" {
		slug = w.DeletedSlug
	}
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		back, err := store.Unbin(ctx, tx, id, slug)
		if err != nil {
			return Taken(err, slug)
		}
		if !back {
			return notBinned(id) // somebody else was first
		}
		if err := access.Unpark(ctx, tx, id); err != nil {
			return err
		}
		if w, err = store.Get(ctx, tx, id); err != nil {
			return err
		}
		if err := e.Definitions.Emit(ctx, tx, id, &catalogue.WorkspaceUpdated{Workspace: definitions.Facts(w)}); err != nil {
			return err
		}
		return e.audit(ctx, tx, id, envelope.Act{
			TargetType: access.SubjectWorkspaces, TargetID: id, Payload: &catalogue.WorkspaceRestored{Workspace: definitions.Facts(w)},
		})
	})
	return w, err
}

// Erase removes a workspace from the bin for good.
func (e *Engine) Erase(ctx context.Context, id string) error {
	w, err := e.binned(ctx, id)
	if err != nil {
		return err
	}
	gone, err := e.purge(ctx, w.ID)
	if err == nil && !gone {
		return notBinned(id)
	}
	return err
}

// EmptyBin removes the workspaces whose time in the bin is over, for good.
func (e *Engine) EmptyBin(ctx context.Context) error {
	ids, err := store.BinnedBefore(ctx, e.DB, e.now().Add(-e.BinAge))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := e.purge(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// purge removes a workspace in the bin for good, and tells whether it was there.
func (e *Engine) purge(ctx context.Context, id string) (gone bool, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if gone, err = store.Purge(ctx, tx, id); err != nil || !gone {
			return err // somebody else was first, or it was restored
		}
		for _, purge := range e.Purges {
			if err := purge(ctx, tx, id); err != nil {
				return err
			}
		}
		return access.RevokeParked(ctx, tx, id)
	})
	return gone, err
}

// Suspend stops everything that runs in a workspace, or lets it run again when there is no reason. It is for super admins.
func (e *Engine) Suspend(ctx context.Context, ref string, suspended bool, reason string) (w workspaces.Workspace, err error) {
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, err := e.enter(ctx, tx, ref, access.ActionRead)
		if err != nil {
			return err
		}
		w = v.Workspace
		if suspended == !w.SuspendedAt.IsZero() && reason == w.SuspendedReason {
			return nil
		}
		w.SuspendedAt, w.SuspendedReason = time.Time{}, reason
		if suspended {
			w.SuspendedAt = e.now()
		}
		if err := store.Suspend(ctx, tx, w); err != nil {
			return err
		}
		return e.audit(ctx, tx, w.ID, envelope.Act{
			TargetType: access.SubjectWorkspaces, TargetID: w.ID,
			Payload: &catalogue.WorkspaceSuspended{WorkspaceID: w.ID, Suspended: suspended, Reason: reason},
		})
	})
	return w, err
}
