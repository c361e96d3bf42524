package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/internal/versioning"
)

// listing is what a bulk operation would do: the workspaces in their order, and the commit that they come from or go on top of.
type listing struct {
	options Options
	place   string
	source  string
	items   []item
}

// list finds out what a bulk operation would do, and refuses it when the caller may not do all of it.
func (b *Bulk) list(ctx context.Context, o Options, shared *versioning.Shared) (listing, error) {
	found := listing{options: o, place: shared.Repository.Fingerprint()}
	collect := b.listPush
	if o.Kind == Importing {
		collect = b.listImport
	}
	if err := collect(ctx, shared, &found); err != nil {
		return found, err
	}
	if o.PlanID != "" && o.PlanID != found.id() {
		return found, versioning.Stale()
	}
	return found, b.mayAll(ctx, found)
}

// id is the same as long as the same thing would happen.
func (l listing) id() string {
	facts := []any{l.options.Kind, l.options.RepositoryID, l.place, l.source, l.options.Groups, l.options.Force, l.options.Reimport, l.options.Name}
	for _, i := range l.items {
		workspace := i.WorkspaceID
		if i.New {
			workspace = ""
		}
		facts = append(facts, []any{i.Slug, workspace, i.Revision, i.Status, i.Version, i.Wrong != nil, l.options.current(i)})
	}
	text, err := json.Marshal(facts)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// workspacesAtOnce is how many workspaces are read at once.
const workspacesAtOnce = 500

// listPush finds the workspaces of groups, and puts them into categories.
func (b *Bulk) listPush(ctx context.Context, shared *versioning.Shared, into *listing) error {
	var labels, slugs []string
	for _, group := range into.options.Groups {
		labels = append(labels, b.Platform.Groups[group]...)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	for offset := 0; ; offset += workspacesAtOnce {
		found, total, err := store.Everything(ctx, b.DB, workspaces.ListQuery{Labels: labels, Sort: "slug", Limit: workspacesAtOnce, Offset: offset})
		if err != nil {
			return err
		}
		for _, w := range found {
			if w.ID == access.PlatformWorkspace {
				continue // it holds the lock
			}
			one := item{Slug: w.Slug, WorkspaceID: w.ID, Name: w.Name, Revision: w.ContentRevision}
			one.Status, one.Reason = b.categoryOf(w, into.options.Force)
			if into.items = append(into.items, one); one.Status == Candidate {
				slugs = append(slugs, w.Slug)
			}
		}
		if offset+workspacesAtOnce >= total {
			break
		}
	}
	var err error
	into.source, err = shared.Look(ctx, slugs, into.options.Name)
	return err
}

// categoryOf tells what a push has to do with a workspace.
func (b *Bulk) categoryOf(w workspaces.Workspace, force bool) (category, reason string) {
	locked := w.Lock.Held(b.Clock.Now())
	switch {
	case locked && w.Lock.Reason == workspaces.MergeConflict:
		return MergeConflict, w.Lock.Reason
	case locked && w.Lock.Reason == versioning.Pushing:
		return InProgress, w.Lock.Reason
	case !w.Dirty() && !force:
		return AlreadyPushed, "up_to_date"
	default:
		return Candidate, ""
	}
}

// listImport finds the folders of a repository, those of groups when any are given, in the order of their dependencies.
func (b *Bulk) listImport(ctx context.Context, shared *versioning.Shared, into *listing) error {
	if err := b.open(ctx, shared, into); err != nil {
		return err
	}
	folders, err := shared.Folders(ctx)
	if err != nil {
		return err
	}
	if err := b.knownGroups(into.options.Groups, folders); err != nil {
		return err
	}
	var slugs []string
	for _, folder := range folders {
		if !chosen(folder, into.options.Groups) {
			continue
		}
		one, err := b.candidate(ctx, folder)
		if err != nil {
			return err
		}
		into.items, slugs = append(into.items, one), append(slugs, one.Slug)
	}
	into.items = inOrder(into.items)
	_, err = shared.Look(ctx, slices.DeleteFunc(slugs, func(slug string) bool { return !workspaces.ValidSlug(slug) }), "")
	return err
}

// open sees where the repository is and stays there.
func (b *Bulk) open(ctx context.Context, shared *versioning.Shared, into *listing) (err error) {
	if shared.Repository.Kind == repositories.Filesystem {
		return nil
	}
	if into.source, err = shared.Look(ctx, nil, ""); err != nil {
		return err
	}
	if into.source == "" {
		return errs.Newf(errs.NotFound, "The repository has no branch %s yet; push to make it.", shared.Repository.Branch).
			With("subjectType", "branches").With("branch", shared.Repository.Branch).With("repositoryId", shared.Repository.ID)
	}
	return shared.Pin(ctx, into.source)
}

// chosen tells whether a folder is one of the groups that are asked for. One that does not say which groups it is in because
// it cannot be read is one of them: somebody should know.
func chosen(f versioning.Folder, groups []string) bool {
	switch {
	case len(groups) == 0:
		return true
	case f.Unfit:
		return false
	case f.Err != nil:
		return true
	default:
		return f.Info != nil && slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(f.Info.Groups, group) })
	}
}

// knownGroups refuses groups that neither the operator has configured nor any folder names.
func (b *Bulk) knownGroups(groups []string, folders []versioning.Folder) error {
	named := map[string]bool{}
	for _, f := range folders {
		if f.Info != nil {
			for _, group := range f.Info.Groups {
				named[group] = true
			}
		}
	}
	return b.unknown(groups, func(group string) bool { return named[group] })
}

func (b *Bulk) unknown(groups []string, known func(group string) bool) error {
	var unknown []string
	for _, group := range groups {
		if _, configured := b.Platform.Groups[group]; !configured && !known(group) {
			unknown = append(unknown, group)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return errs.New(errs.NotFound, "There is no such group of workspaces.").With("subjectType", "groups").With("groups", unknown).
		With("availableGroups", b.Platform.GroupNames())
}

// candidate is a folder as a workspace that is to be imported.
func (b *Bulk) candidate(ctx context.Context, f versioning.Folder) (item, error) {
	one := item{Slug: f.Name, App: appOf(f.Info)}
	if f.Err != nil {
		wrong := errs.From(f.Err).Show()
		one.Wrong = &wrong
		if f.Unfit {
			one.Slug = versioning.ShownName(f.Name)
			return one, nil
		}
	}
	if f.Info != nil {
		one.Version, one.needs = f.Info.Version.Name, f.Info.DependsOn
	}
	w, err := store.Find(ctx, b.DB, store.SlugPrefix+f.Name)
	switch {
	case sqldb.IsNotFound(err):
		one.New, one.WorkspaceID = true, b.IDs.Workspace()
		return one, nil
	case err != nil:
		return one, err
	}
	one.WorkspaceID, one.Name, one.Revision = w.ID, w.Name, w.ContentRevision
	if w.LastPull != nil {
		one.Pulled = w.LastPull.Version
	}
	return one, nil
}

// mayAll refuses a caller that may not do all of a bulk operation, before anything of it is done.
func (b *Bulk) mayAll(ctx context.Context, l listing) error {
	if access.From(ctx).SuperAdmin {
		return nil
	}
	var shown []string
	refused := 0
	for _, i := range l.items {
		switch {
		case i.Wrong != nil:
			continue
		case i.New:
			if err := b.Engine.MayCreate(ctx); err != nil {
				return err
			}
			continue
		}
		_, err := b.Door.May(ctx, b.DB, i.WorkspaceID, access.ActionUpdate)
		if err == nil {
			continue
		}
		if !isRefusal(err) {
			return err
		}
		refused++
		if _, err := b.Door.May(ctx, b.DB, i.WorkspaceID, access.ActionRead); err == nil {
			shown = append(shown, i.Slug) // the others are not for the caller to know of
		}
	}
	if refused == 0 {
		return nil
	}
	const most = 100
	return errs.New(errs.PermissionDenied, fmt.Sprintf("You may not update %d of the workspaces that this is about, so nothing was done. Ask their owners, or a super admin.", refused)).
		With("workspaces", append([]string{}, shown[:min(len(shown), most)]...)).With("refused", refused)
}

func isRefusal(err error) bool {
	switch errs.CodeOf(err) {
	case errs.WorkspaceAccessDenied, errs.PermissionDenied, errs.NotFound, errs.InvalidCredentials:
		return true
	default:
		return false
	}
}

// asApp is the app that a workspace publishes as archives say it.
func (a ImportedApp) asApp() archive.AppInfo {
	return archive.AppInfo{Slug: a.Slug, Name: a.Name, Description: a.Description}
}
