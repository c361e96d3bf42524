package archives

import (
	"context"
	"io"
	"slices"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Export is an archive that is about to be written.
type Export struct {
	// Name is that of the file.
	Name string
	// Write writes it; when that fails, what was written has no end and is no archive.
	Write func(w io.Writer) error
}

// Export makes the archive of a workspace that the caller may read: as it is now, or as it was in a native version. What is
// secret or belongs to the environment is not in it, because it is not part of the definition; what somebody wrote into the
// definition although it is secret is taken out. Texts are read one by one while it is written: they never change, so the
// archive is that of one moment.
func (a *Archives) Export(ctx context.Context, ref, version string) (Export, error) {
	w, tree, err := a.Definitions.TreeOf(ctx, ref, version)
	if err != nil {
		return Export{}, err
	}
	safe, err := a.safeInstances(ctx, w.ID, tree)
	if err != nil {
		return Export{}, err
	}
	files := make([]archive.File, 0, len(tree))
	for _, entry := range tree {
		if text, cleared := safe[entry.Path]; cleared {
			files = append(files, archive.File{Path: entry.Path, Ext: entry.Ext, Text: text})
			continue
		}
		files = append(files, archive.File{Path: entry.Path, Ext: entry.Ext, Sum: entry.Hash, Load: func() ([]byte, error) {
			return a.leavingText(ctx, w.ID, entry)
		}})
	}
	info, err := a.info(ctx, w, tree, version)
	if err != nil {
		return Export{}, err
	}
	if err := a.tellExport(ctx, w, version); err != nil {
		return Export{}, err
	}
	return Export{Name: w.ID + "-" + version + ".zip", Write: func(out io.Writer) error { return archive.Write(out, version, files, info) }}, nil
}

// leavingText is the text of a document as it leaves.
func (a *Archives) leavingText(ctx context.Context, workspaceID string, entry store.Entry) ([]byte, error) {
	text, err := store.Text(ctx, a.DB, workspaceID, entry.Hash)
	if err != nil || entry.Path != string(dsul.Index) {
		return text, err
	}
	index, problems := dsul.Parse(dsul.Index, "", text)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	safe, _, err := without(index, leaving)
	if err != nil {
		return nil, err
	}
	return safe.Text, nil
}

// tellExport notes who took the definition of a workspace away.
func (a *Archives) tellExport(ctx context.Context, w workspaces.Workspace, version string) error {
	return a.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		return a.Definitions.Audit(ctx, tx, w.ID, envelope.Act{
			TargetType: access.SubjectWorkspaces, TargetID: w.ID,
			Payload: &catalogue.WorkspaceExported{Workspace: definitions.Ref(w), Version: catalogue.Version{Name: version}},
		})
	})
}

// info is what the archive says of itself.
func (a *Archives) info(ctx context.Context, w workspaces.Workspace, tree []store.Entry, version string) (*archive.ImportInfo, error) {
	now := a.Definitions.Now()
	needed, err := a.dependencies(ctx, w.ID, tree)
	if err != nil {
		return nil, err
	}
	info := &archive.ImportInfo{WorkspaceID: w.ID, Version: archive.VersionInfo{Type: "export", Name: version, ExportedAt: &now}, DependsOn: needed}
	if a.Apps == nil {
		return info, nil
	}
	info.App, err = a.Apps.Of(ctx, a.DB, w.ID)
	return info, err
}

// dependencies lists the apps that a workspace needs.
func (a *Archives) dependencies(ctx context.Context, workspaceID string, tree []store.Entry) ([]string, error) {
	var needed []string
	for _, entry := range tree {
		kind, slug, _ := dsul.SplitPath(entry.Path)
		if kind != dsul.Import {
			continue
		}
		text, err := store.Text(ctx, a.DB, workspaceID, entry.Hash)
		if err != nil {
			return nil, err
		}
		doc, _ := dsul.Parse(kind, slug, text)
		if doc == nil || doc.Root == nil {
			continue
		}
		if app := doc.Summary().AppSlug; app != "" && dsul.ValidSlug(app) && !slices.Contains(needed, "app/"+app) {
			needed = append(needed, "app/"+app)
		}
	}
	slices.Sort(needed)
	return needed, nil
}

// BulkQuery says which workspaces a bulk archive is made of.
type BulkQuery struct {
	workspaces.ListQuery

	// IncludeApps lists the apps that they publish, so that an import publishes them again.
	IncludeApps bool
}

// ExportMany makes one archive of many workspaces that the caller may read.
func (a *Archives) ExportMany(ctx context.Context, q BulkQuery) (Export, error) {
	found, _, err := a.Engine.List(ctx, q.ListQuery)
	if err != nil {
		return Export{}, err
	}
	bulk := &archive.Bulk{}
	for _, w := range found {
		bulk.WorkspaceIDs = append(bulk.WorkspaceIDs, w.ID)
	}
	if q.IncludeApps && a.Apps != nil {
		if bulk.PublishApps, err = a.publications(ctx, found); err != nil {
			return Export{}, err
		}
	}
	return Export{Name: "workspaces.zip", Write: func(w io.Writer) error {
		return archive.WriteBulk(w, bulk, func(id string, w io.Writer) error {
			one, err := a.Export(ctx, id, definitions.Current)
			if err != nil {
				return err
			}
			return one.Write(w)
		})
	}}, nil
}
