package archives

import (
	"context"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
)

// importedFrom begins the label of a workspace that a bulk import has made, before the id that it had.
const importedFrom = "importFrom:"

// bulk imports the workspaces of a bulk archive, one after another: each is done whole or not at all. All of them are
// checked before the first is changed.
func (a *Archives) bulk(ctx context.Context, from *archive.Bulk, opts Options) (Result, error) {
	checked, err := a.checkAll(ctx, from)
	if err != nil {
		return Result{}, err
	}
	var total Result
	ids := map[string]string{}
	for _, id := range from.WorkspaceIDs {
		one, err := a.bulkOne(ctx, id, checked[id], opts, &total)
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if err != nil {
			total.Findings = append(total.Findings, Finding{Msg: reason(err), Err: string(errs.CodeOf(err)), Path: id})
			continue
		}
		ids[id] = one.WorkspaceID
		total.add(id, one)
	}
	for _, app := range from.PublishApps {
		id, imported := ids[app.WorkspaceID]
		info := &archive.ImportInfo{App: &archive.AppInfo{Slug: app.Slug, Name: app.Name, Description: app.Description}}
		switch {
		case !imported:
		case opts.DryRun:
			a.planned(info, &total)
		default:
			a.publish(ctx, id, info, &total)
		}
	}
	return total, nil
}

func (a *Archives) checkAll(ctx context.Context, from *archive.Bulk) (map[string]*content, error) {
	checked := make(map[string]*content, len(from.WorkspaceIDs))
	for _, id := range from.WorkspaceIDs {
		c, err := a.check(ctx, from.Archives[id])
		if err != nil {
			return nil, errs.From(err).With("workspaceId", id)
		}
		if c.info != nil {
			info := *c.info
			info.App = nil // which apps are published, and in which order, the list of the archive says
			c.info = &info
		}
		checked[id] = c
	}
	return checked, nil
}

func (r *Result) add(id string, one Result) {
	for _, path := range one.Imported {
		r.Imported = append(r.Imported, id+"/"+path)
	}
	for _, path := range one.Deleted {
		r.Deleted = append(r.Deleted, id+"/"+path)
	}
	const most = 5000
	for _, finding := range one.Findings[:min(len(one.Findings), max(0, most-len(r.Findings)))] {
		finding.Path = strings.TrimSuffix(id+"/"+finding.Path, "/")
		r.Findings = append(r.Findings, finding)
	}
	r.Unchanged += one.Unchanged
}

// bulkOne imports one workspace: into the one with the same id, or into the one that came from it, or into a new one.
func (a *Archives) bulkOne(ctx context.Context, id string, c *content, opts Options, total *Result) (Result, error) {
	target, err := a.target(ctx, id)
	if err != nil {
		return Result{}, err
	}
	if target == nil {
		if err := a.Engine.MayCreate(ctx); err != nil {
			return Result{}, err
		}
		made, err := a.create(ctx, c, opts, marks(id))
		if err == nil && !opts.DryRun {
			total.Created = append(total.Created, made.WorkspaceID)
		}
		return made, err
	}
	done, err := a.into(ctx, *target, c, opts)
	if err == nil {
		total.Updated = append(total.Updated, target.ID)
	}
	return done, err
}

// marks are the labels that tell where a workspace came from; none when its id does not fit into a label.
func marks(id string) []string {
	if label := importedFrom + id; workspaces.CheckLabels([]string{label}) == nil {
		return []string{label}
	}
	return nil
}

// target finds the workspace that an exported one is here; nil when there is none that the caller may update. A label
// counts only in workspaces that the caller has made: anybody could put it into theirs, and wait for what comes in.
func (a *Archives) target(ctx context.Context, id string) (*workspaces.Workspace, error) {
	if w, err := a.updatable(ctx, id); err != nil || w != nil {
		return w, err
	}
	labels, me := marks(id), access.From(ctx).UserID
	if labels == nil || me == "" {
		return nil, nil //nolint:nilnil // nothing can have come from it
	}
	const atOnce = 100
	for offset := 0; ; offset += atOnce {
		found, total, err := a.Engine.List(ctx, workspaces.ListQuery{Labels: labels, Sort: "createdAt", Limit: atOnce, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			if w.CreatedBy != me {
				continue
			}
			if mine, err := a.updatable(ctx, w.ID); err != nil || mine != nil {
				return mine, err
			}
		}
		if offset+atOnce >= total {
			return nil, nil //nolint:nilnil // there is none
		}
	}
}

// updatable reads a workspace that the caller may update; nil when there is none.
func (a *Archives) updatable(ctx context.Context, id string) (*workspaces.Workspace, error) {
	v, err := a.Engine.Door.May(ctx, a.DB, id, access.ActionUpdate)
	switch errs.CodeOf(err) {
	case "":
		return &v.Workspace, nil
	case errs.WorkspaceAccessDenied, errs.PermissionDenied, errs.NotFound, errs.InvalidCredentials:
		return nil, nil //nolint:nilnil // there is none for this caller
	default:
		return nil, err
	}
}
