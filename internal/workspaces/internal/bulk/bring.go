package bulk

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// bring imports a workspace: into the one with the slug of the folder, or into a new one.
func (b *Bulk) bring(ctx context.Context, r *running, i int, came outcome) (outcome, error) {
	one := r.items[i]
	var before versioning.Pulled
	done, err := b.earlier(ctx, r, i, &before)
	if err != nil {
		return came, err
	}
	if done {
		return b.brought(ctx, one, came, before, true)
	}
	w, fresh, err := b.target(ctx, r, one)
	if err != nil {
		return came, err
	}
	came.WorkspaceID, came.Name = w.ID, w.Name
	if !r.options.Reimport && one.Version != "" && w.LastPull != nil && w.LastPull.Version == one.Version {
		came.Status, came.Reason = Skipped, "up_to_date"
		return came, nil
	}
	pulled, err := r.shared.Pull(ctx, w, r.operationID(i, r.row.Resumed))
	if err != nil {
		if fresh {
			b.undo(ctx, w)
			came.WorkspaceID = ""
		}
		return came, err
	}
	return b.brought(ctx, one, came, pulled, false)
}

// brought is the outcome of a workspace whose documents are there. When that is known from before, its app may still have to be
// published.
func (b *Bulk) brought(ctx context.Context, one item, came outcome, pulled versioning.Pulled, again bool) (outcome, error) {
	came.Status, came.WorkspaceID, came.Created = Imported, pulled.Workspace, one.New && pulled.Workspace == one.WorkspaceID
	came.Imported, came.Deleted = len(pulled.Imported), len(pulled.Deleted)
	if w, err := store.Get(ctx, b.DB, pulled.Workspace); err == nil {
		came.Name = w.Name
	}
	findings := pulled.Findings
	if again && one.App != nil {
		if err := b.Versioning.Archives.Publish(ctx, pulled.Workspace, one.App.asApp()); err != nil {
			findings = append(findings, archives.Finding{Msg: "The app " + one.App.Slug + " was not published: " + errs.From(err).Message, Err: string(errs.CodeOf(err))})
		}
	}
	came.Errors = problems(findings)
	return came, nil
}

// problems are findings as bulk operations tell of them.
func problems(findings []archives.Finding) []errs.Shown {
	const most = 50
	var shown []errs.Shown
	for _, f := range findings[:min(len(findings), most)] {
		details := map[string]any{}
		if f.Path != "" {
			details["path"] = f.Path
		}
		if f.Line > 0 {
			details["line"] = f.Line
		}
		shown = append(shown, errs.Shown{Error: errs.Code(f.Err), Message: f.Msg, Details: details})
	}
	return shown
}

// target finds the workspace that a folder is imported into, or makes it; fresh tells that it was made now.
func (b *Bulk) target(ctx context.Context, r *running, one item) (w workspaces.Workspace, fresh bool, err error) {
	w, err = store.Find(ctx, b.DB, store.SlugPrefix+one.Slug)
	if err == nil {
		visit, err := b.Door.May(ctx, b.DB, w.ID, access.ActionUpdate)
		if err != nil {
			return w, false, err
		}
		return visit.Workspace, false, nil
	}
	if !sqldb.IsNotFound(err) {
		return w, false, err
	}
	if !one.New {
		return w, false, errs.Newf(errs.NotFound, "The workspace %s was deleted, or has another slug by now.", one.Slug).With("subjectType", "workspaces")
	}
	if err := b.Engine.MayCreate(ctx); err != nil {
		return w, false, err
	}
	if err := r.shared.Check(ctx, one.Slug); err != nil {
		return w, false, err
	}
	w, err = b.create(ctx, one)
	failpoint.At("bulk.created")
	return w, true, err
}

// create makes the workspace that a folder is imported into. It belongs to the caller, or to the platform when that is nobody.
func (b *Bulk) create(ctx context.Context, one item) (workspaces.Workspace, error) {
	w := b.Engine.Fresh(ctx)
	w.ID, w.Slug, w.Name = one.WorkspaceID, one.Slug, one.Slug
	err := b.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := b.Definitions.Establish(ctx, tx, w, definitions.NewIndex(w)); err != nil {
			return err
		}
		grant := access.GrantSuperAdmins
		if access.From(ctx).UserID != "" {
			grant = func(ctx context.Context, tx *sqldb.Tx, id string) error {
				return access.Grant(ctx, tx, id, access.Owner)
			}
		}
		if err := grant(ctx, tx, w.ID); err != nil {
			return err
		}
		return b.Definitions.TellCreated(ctx, tx, w)
	})
	if err != nil {
		return w, err
	}
	return store.Get(ctx, b.DB, w.ID)
}

// undo removes a workspace that was made for an import which failed.
func (b *Bulk) undo(ctx context.Context, w workspaces.Workspace) {
	ctx = context.WithoutCancel(ctx)
	if _, err := b.Engine.Delete(ctx, w.ID); err != nil {
		b.Log.WarnContext(ctx, "a workspace whose import failed could not be removed", "workspace", w.ID, "error", err)
		return
	}
	if err := b.Engine.Erase(ctx, w.ID); err != nil {
		b.Log.WarnContext(ctx, "a workspace whose import failed stays in the bin", "workspace", w.ID, "error", err)
	}
}
