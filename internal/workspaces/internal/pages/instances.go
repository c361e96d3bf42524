package pages

import (
	"context"

	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Apps reads the apps that workspaces have instances of.
type Apps interface {
	// Index reads the index of a version of an app; nil when there is none that the caller may read.
	Index(ctx context.Context, r sqldb.Reader, appSlug, version string) (*dsul.Document, error)
}

// instances gives the blocks of every app instance of a workspace that is not switched off and offers some, by the slug of
// the instance.
func (p *Pages) instances(ctx context.Context, workspaceID string, workspace *config) ([]any, error) {
	found, err := store.Documents(ctx, p.DB, workspaceID, string(dsul.Import)+"/")
	if err != nil {
		return nil, err
	}
	var all []any
	for _, document := range found {
		meta, err := definitions.MetaOf(document)
		if err != nil {
			return nil, err
		}
		if meta.Disabled || workspace.spent() {
			continue
		}
		app, err := p.Apps.Index(ctx, p.DB, meta.AppSlug, meta.AppVersion)
		if err != nil {
			return nil, err
		}
		blocks, err := p.blocks(ctx, app, stored{workspaceID, document}, workspace)
		if err != nil {
			return nil, err
		}
		if blocks != nil {
			all = append(all, instance(meta.Slug, blocks))
		}
	}
	return all, nil
}

// stored is a document of a workspace.
type stored struct {
	workspaceID string
	store.Document
}

// blocks gives the blocks of an app for an instance, filled with its configuration; nil when there are none.
func (p *Pages) blocks(ctx context.Context, app *dsul.Document, instance stored, workspace *config) (*value.Object, error) {
	if app == nil || app.Get("blocks") == nil {
		return nil, nil //nolint:nilnil // the app is gone or not for the caller, or it has no blocks
	}
	decoded, err := decode(app.Get("blocks"))
	if err != nil {
		return nil, err
	}
	given, err := p.read(ctx, instance)
	if err != nil {
		return nil, err
	}
	workspace.spend(len(app.Text)) // all of it may come into the answer
	return workspace.of(app, given).filled(offered(decoded)), nil
}

// read reads a document of a workspace.
func (p *Pages) read(ctx context.Context, of stored) (*dsul.Document, error) {
	text, err := store.Text(ctx, p.DB, of.workspaceID, of.Hash)
	if err != nil {
		return nil, errs.Wrap(err, "read a document for a page")
	}
	kind, slug, _ := dsul.SplitPath(of.Path)
	parsed, problems := dsul.Parse(kind, slug, text)
	if err := problems.Err(); err != nil {
		return nil, errs.Newf(errs.Internal, "The document %s cannot be read any more. Quote the correlation id when you report it.", of.Path).Because(err)
	}
	return parsed, nil
}

// instance is the blocks that a page may use of an app, by the name of the app's instance; the workspace's own have none.
func instance(slug string, blocks *value.Object) *value.Object {
	one := value.NewObject(0)
	one.Set("slug", slug)
	one.Set("blocks", blocks)
	return one
}

// offered gives blocks as renderers look them up, by name: the address of the program that draws one, or the block itself
// when it is made of others.
func offered(blocks any) *value.Object {
	defined, ok := blocks.(*value.Object)
	if !ok {
		return value.NewObject(0)
	}
	all := value.NewObject(defined.Len())
	for name, block := range defined.All() {
		address, _ := value.Get(block, "url").(string)
		switch {
		case !value.Exists(block):
		case address != "" && !value.Exists(value.Get(block, "blocks")):
			all.Set(name, address)
		default:
			all.Set(name, block)
		}
	}
	return all
}
