package archives

import (
	"context"
	"slices"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Pulled says how the documents that a pull brings are imported.
type Pulled struct {
	// Keep tells which documents stay as they are; nil keeps none.
	Keep func(path string) bool
	// Reslug gives the workspace the slug that its index brings, when that is free.
	Reslug bool
	// Note is what the history says of it.
	Note string
	// Expect refuses the workspace that is about to be changed; nil takes it as it is.
	Expect func(w workspaces.Workspace) error
	// Also changes with the documents, and ends the operation.
	Also func(ctx context.Context, tx *sqldb.Tx, after workspaces.Workspace, result *Result) error
}

func (p Pulled) keeps(path string) bool { return p.Keep != nil && p.Keep(path) }

// Pull imports what a pull brings into the workspace of an operation, in one transaction: what is not there any more goes.
func (a *Archives) Pull(ctx context.Context, op *definitions.Operation, from *archive.Archive, p Pulled) (Result, error) {
	if from.Import != nil {
		info := *from.Import
		info.Checksums = nil // whoever edits in a repository does not keep them up to date, and its own are better
		from = &archive.Archive{Files: from.Files, Import: &info, Ignored: from.Ignored}
	}
	checked, err := a.check(ctx, from)
	if err != nil {
		return Result{}, err
	}
	opts := Options{Prune: true, pull: p}
	result, err := applying(checked, func(c *content) (Result, error) { return a.apply(ctx, op, c, opts) })
	if err != nil {
		return Result{}, err
	}
	a.publish(ctx, op.Workspace.ID, checked.info, &result)
	return result, nil
}

// reslug gives the workspace the slug of the index that comes, when that says another one than before and it is free.
func (a *Archives) reslug(ctx context.Context, e *definitions.Edit, c *content, opts Options, result *Result) error {
	slug := slugOf(c.index.Document)
	if !opts.pull.Reslug || slug == "" || slug == e.Workspace.Slug || !workspaces.ValidSlug(slug) || opts.pull.keeps(string(dsul.Index)) {
		return nil
	}
	before, err := e.Get(ctx, string(dsul.Index))
	if err != nil || before != nil && slugOf(before.Parsed) == slug {
		return err
	}
	other, err := store.Find(ctx, e.Tx, store.SlugPrefix+slug)
	if sqldb.IsNotFound(err) {
		return e.Reslug(slug)
	}
	if err != nil {
		return err
	}
	finding := Finding{Msg: "The slug " + slug + " is already used; the workspace keeps its own.", Err: "SlugAlreadyInUse", Path: string(dsul.Index), Slug: slug}
	if _, err := a.Engine.Door.May(ctx, e.Tx, other.ID, access.ActionUpdate); err == nil {
		finding.ConflictingWorkspaceID = other.ID
	}
	result.Findings = append(result.Findings, finding)
	return nil
}

// Leaving gives the documents of a tree as they leave for a repository: without secret values, and without what says where
// the workspace is pushed to, which belongs to the environment.
func (a *Archives) Leaving(ctx context.Context, workspaceID string, tree []store.Entry) ([]archive.File, error) {
	safe, err := a.safeInstances(ctx, workspaceID, tree)
	if err != nil {
		return nil, err
	}
	files := make([]archive.File, 0, len(tree))
	for _, entry := range tree {
		text, cleared := safe[entry.Path]
		if !cleared {
			if text, err = a.leavingText(ctx, workspaceID, entry); err != nil {
				return nil, err
			}
		}
		if entry.Path == string(dsul.Index) {
			if text, err = withoutRepositories(text); err != nil {
				return nil, err
			}
		}
		files = append(files, archive.File{Path: entry.Path, Ext: entry.Ext, Text: text})
	}
	return files, nil
}

// Describe is the text of .import.yml for what is pushed to a platform repository.
func (a *Archives) Describe(ctx context.Context, w workspaces.Workspace, tree []store.Entry, files []archive.File, version string, groups []string) ([]byte, error) {
	info, err := a.info(ctx, w, tree, version)
	if err != nil {
		return nil, err
	}
	info.Groups = slices.Clone(groups)
	return archive.Describe(info, files), nil
}

// Readable refuses documents that a pull could not import, before there is a workspace for them.
func (a *Archives) Readable(ctx context.Context, from *archive.Archive) error {
	plain := &archive.Archive{Files: from.Files, Ignored: from.Ignored}
	_, err := a.check(ctx, plain)
	return err
}

// Publish publishes a workspace as an app, for the caller of ctx; it is nothing new when its newest version has the same documents.
func (a *Archives) Publish(ctx context.Context, workspaceID string, app archive.AppInfo) error {
	return a.Apps.Publish(ctx, workspaceID, app)
}
