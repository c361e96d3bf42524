package definitions

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// List reads the documents of a kind without their texts, and how many there are in all. Of pages only those that the
// caller may read are there.
func (d *Definitions) List(ctx context.Context, ref string, kind dsul.Kind, q store.DocumentQuery) ([]store.Document, int, error) {
	q.Prefix = string(kind) + "/"
	if kind == dsul.Page {
		return d.listPages(ctx, ref, q)
	}
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, 0, err
	}
	return store.ListDocuments(ctx, d.DB, v.Workspace.ID, q)
}

// everything is more than a workspace has documents.
const everything = 1 << 30

func (d *Definitions) listPages(ctx context.Context, ref string, q store.DocumentQuery) ([]store.Document, int, error) {
	v, err := d.Door.Visit(ctx, d.DB, ref)
	if err != nil {
		return nil, 0, err
	}
	limit, offset := q.Limit, q.Offset
	q.Limit, q.Offset = everything, 0
	found, _, err := store.ListDocuments(ctx, d.DB, v.Workspace.ID, q)
	if err != nil {
		return nil, 0, err
	}
	readable := found[:0]
	for _, page := range found {
		if v.Ability.Decide(access.ActionRead, access.SubjectPages, PageFields(v.Ability, page)).Allowed {
			readable = append(readable, page)
		}
	}
	if len(readable) == 0 { // whether there is a workspace at all is told to those who may see it
		if err := v.CheckObject(access.ActionRead, access.SubjectPages, nil); err != nil {
			return nil, 0, err
		}
	}
	total := len(readable)
	from := min(offset, total)
	return readable[from:min(from+limit, total)], total, nil
}

// Metas gives what lists show of all documents of a workspace, by kind and slug.
func (d *Definitions) Metas(ctx context.Context, workspaceID string) (map[dsul.Kind]map[string]Meta, error) {
	found, err := store.Documents(ctx, d.DB, workspaceID, "")
	if err != nil {
		return nil, err
	}
	metas := map[dsul.Kind]map[string]Meta{dsul.Automation: {}, dsul.Page: {}, dsul.Import: {}}
	for _, document := range found {
		kind, slug, _ := dsul.SplitPath(document.Path)
		if kind.Single() {
			continue
		}
		meta, err := MetaOf(document)
		if err != nil {
			return nil, err
		}
		metas[kind][slug] = meta
	}
	return metas, nil
}

// Overview gives the index of a workspace, or of a native version of it, and what lists show of its other documents.
func (d *Definitions) Overview(ctx context.Context, w workspaces.Workspace, version string) (*dsul.Document, map[dsul.Kind]map[string]Meta, error) {
	if version == Current {
		index, err := d.load(ctx, d.DB, w, string(dsul.Index))
		if err != nil {
			return nil, nil, err
		}
		metas, err := d.Metas(ctx, w.ID)
		return index.Parsed, metas, err
	}
	files, err := d.files(ctx, d.DB, w.ID, version)
	if err != nil {
		return nil, nil, err
	}
	index := NewIndex(w)
	metas := map[dsul.Kind]map[string]Meta{dsul.Automation: {}, dsul.Page: {}, dsul.Import: {}}
	for _, file := range files {
		kind, slug, _ := dsul.SplitPath(file.Path)
		doc, problems := dsul.Parse(kind, slug, file.Text)
		if err := problems.Err(); err != nil {
			return nil, nil, err
		}
		if kind == dsul.Index {
			index = doc
		}
		if !kind.Single() {
			metas[kind][slug] = Meta{Summary: doc.Summary(), Checksum: file.Hash}
		}
	}
	return index, metas, nil
}
