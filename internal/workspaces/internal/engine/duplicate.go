package engine

import (
	"context"

	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
)

// Duplicate makes a workspace of the caller from another one that it may read, or from a version of it.
func (e *Engine) Duplicate(ctx context.Context, ref, version string) (workspaces.Workspace, error) {
	if err := e.MayCreate(ctx); err != nil {
		return workspaces.Workspace{}, err
	}
	original, err := e.Definitions.Content(ctx, ref, version)
	if err != nil {
		return workspaces.Workspace{}, err
	}
	w := e.Fresh(ctx)
	w.Slug = InventSlug(original.Workspace.Name, e.IDs)
	index, files, err := duplicated(original, w.Slug)
	if err != nil {
		return w, err
	}
	definitions.TakeOver(&w, index, false)
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := e.Establish(ctx, tx, w, index); err != nil {
			return err
		}
		filled, err := e.Definitions.EditIn(ctx, tx, w.ID, definitions.Purpose{Reason: definitions.ByImport, Note: original.Workspace.ID, Quiet: true},
			func(ctx context.Context, edit *definitions.Edit) error { return edit.Fill(ctx, files) })
		if err != nil {
			return err
		}
		w = filled
		from := original.Workspace
		return e.Definitions.Emit(ctx, tx, w.ID, &catalogue.WorkspaceDuplicated{Workspace: definitions.Facts(w), FromWorkspace: definitions.Ref(from)})
	})
	return w, Taken(err, w.Slug)
}

// duplicated gives the index of a duplicate, and its other documents.
func duplicated(original definitions.Content, slug string) (index *dsul.Document, files []definitions.File, err error) {
	for _, file := range original.Files {
		switch dsul.Kind(file.Path) {
		case dsul.Index:
			if index, err = definitions.DuplicateIndex(file.Text, original.Workspace.Name, slug); err != nil {
				return nil, nil, err
			}
		case dsul.Security:
			if file.Text, err = definitions.DuplicateSecurity(file.Text); err != nil {
				return nil, nil, err
			}
			files = append(files, file)
		default:
			files = append(files, file)
		}
	}
	return index, files, nil
}
