// Package pages builds what renderers show: a page with everything it needs besides, in one answer.
package pages

import (
	"context"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// Pages builds pages for renderers.
type Pages struct {
	DB          *sqldb.DB
	Access      *access.Enforcer
	Definitions *definitions.Definitions
	Apps        Apps
}

// largest is how many bytes a page may have for renderers: a configuration that is used often makes more of a page than
// was ever stored.
const largest = 8 << 20

// Detailed gives a page that the caller may read, as JSON for renderers: what was written, where it is from, and the blocks
// that it may use, filled with the configuration of the workspace. A page that does not exist is refused to a caller
// without access in the words in which any other is.
func (p *Pages) Detailed(ctx context.Context, workspaceSlug, slug string) ([]byte, error) {
	page, err := p.Definitions.Read(ctx, store.SlugPrefix+workspaceSlug, dsul.Page, slug)
	if err != nil {
		return nil, err
	}
	index, err := p.index(ctx, page.Workspace)
	if err != nil {
		return nil, err
	}
	shown, err := p.describe(ctx, page)
	if err != nil {
		return nil, err
	}
	offers, err := p.offers(ctx, index, page.Workspace.ID, shown)
	if err != nil {
		return nil, err
	}
	shown.Set("appInstances", offers)
	if text, fits := value.JSON(shown, "", largest); fits {
		return []byte(text), nil
	}
	return nil, tooLarge()
}

// offers fills the blocks of a page with the configuration of its workspace, and gives the blocks that it may use: the
// workspace's own, and those of its app instances.
func (p *Pages) offers(ctx context.Context, index *dsul.Document, workspaceID string, shown *value.Object) ([]any, error) {
	config := ofWorkspace(index)
	if blocks := shown.Get("blocks"); value.Exists(blocks) {
		shown.Set("blocks", config.fill(blocks))
	}
	own, err := decode(index.Get("blocks"))
	if err != nil {
		return nil, err
	}
	all := []any{instance("", config.filled(offered(own)))}
	others, err := p.instances(ctx, workspaceID, config)
	if err == nil && config.spent() {
		err = tooLarge()
	}
	return append(all, others...), err
}

func tooLarge() error {
	return errs.Newf(errs.ValidationFailed,
		"With its blocks and its configuration the page has more than %d MiB; make the values of the configuration smaller, or use them less often.", largest>>20)
}

// index reads the index of a workspace.
func (p *Pages) index(ctx context.Context, w workspaces.Workspace) (*dsul.Document, error) {
	found, err := store.GetDocument(ctx, p.DB, w.ID, string(dsul.Index))
	if err != nil {
		return nil, errs.Wrap(err, "find the index of a workspace")
	}
	return p.read(ctx, stored{w.ID, found})
}

// describe gives a page as it was written, with what the service knows of it in the place of what others may have written
// under the same keys. Who wrote it, and with whom it is shared, is not for renderers.
func (p *Pages) describe(ctx context.Context, page definitions.Stored) (*value.Object, error) {
	decoded, err := decode(page.Parsed.Root)
	if err != nil {
		return nil, err
	}
	shown, ok := decoded.(*value.Object)
	if !ok {
		shown = value.NewObject(0)
	}
	favicon, _ := shown.Get("favicon").(string)
	if favicon == "" {
		favicon = page.Workspace.Photo
	}
	for _, key := range []string{
		"slug", "id", "workspaceId", "workspaceSlug", "public", "clientId", "apiKey", "appInstances", "events", "permissions",
		"checksum", "createdAt", "createdBy", "updatedAt", "updatedBy",
	} {
		shown.Delete(key)
	}
	shown.Set("slug", page.Slug())
	shown.Set("id", page.ObjectID)
	shown.Set("workspaceId", page.Workspace.ID)
	shown.Set("workspaceSlug", page.Workspace.Slug)
	shown.Set("favicon", favicon)
	return shown, p.opening(ctx, page, shown)
}

// opening adds who may see the page: everybody, or those who sign in at the client of the workspace.
func (p *Pages) opening(ctx context.Context, page definitions.Stored, shown *value.Object) error {
	everybody, err := p.Access.Load(access.With(ctx, access.Principal{}), p.DB, page.Workspace.ID)
	if err != nil {
		return err
	}
	object := definitions.PageFields(everybody, page.Document)
	shown.Set("public", everybody.Decide(access.ActionRead, access.SubjectPages, object).Allowed)
	security, err := access.LoadSecurity(ctx, p.DB, page.Workspace.ID)
	if err == nil && security.Authentication != nil && security.Authentication.ClientID != "" {
		shown.Set("clientId", security.Authentication.ClientID)
	}
	return err
}

// decode gives a part of a document as a value; undefined when there is none.
func decode(n *yaml.Node) (any, error) {
	if n == nil {
		return value.Undefined{}, nil
	}
	decoded, err := value.Decode(string(dsul.JSON(n)))
	return decoded, errs.Wrap(err, "read a part of a document")
}
