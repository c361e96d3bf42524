package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/pages"
)

// DetailedPage describes a page for renderers: what was written, and what a renderer needs besides.
type DetailedPage struct {
	PageDefinition

	ID            string        `json:"id" doc:"The page's id."`
	WorkspaceID   string        `json:"workspaceId" doc:"The workspace of the page."`
	WorkspaceSlug string        `json:"workspaceSlug" doc:"The slug of the workspace."`
	Public        bool          `json:"public" doc:"Whether everybody may read the page, also without a credential."`
	ClientID      string        `json:"clientId,omitempty" doc:"The OIDC client with which people sign in to the pages of the workspace."`
	Favicon       string        `json:"favicon" doc:"The address of the icon: the page's, or the workspace's picture."`
	AppInstances  []AppInstance `json:"appInstances" nullable:"false" doc:"The blocks that the page may use, by where they are from."`
}

// AppInstance is the blocks of an app for a page.
type AppInstance struct {
	Slug   string                     `json:"slug" doc:"The instance of the app; empty for the workspace's own blocks."`
	Blocks map[string]json.RawMessage `json:"blocks" nullable:"false" doc:"By name: the address of the program that draws the block, or the block when it is made of others."`
}

// InSite names the workspace whose pages are shown; inputs embed it.
type InSite struct {
	WorkspaceSlug string `path:"workspaceSlug" maxLength:"80" doc:"The slug of the workspace."`
}

type detailedPageInput struct {
	InSite

	Slug string `path:"slug" maxLength:"101" doc:"The slug of the page; it may contain slashes, and one may follow it."`
}

// rootPage is the page at the root of the pages of a workspace.
const rootPage = "index"

// RegisterPages adds what renderers ask for.
func RegisterPages(api *restapi.API, p *pages.Pages) {
	show := restapi.Operation{
		Method: http.MethodGet, Tag: "Pages", Policy: access.ByRules, Scope: access.PagesRead,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}, Gives: []restapi.Media{{Type: mediaJSON, Of: DetailedPage{}}},
	}
	one, root := show, show
	one.ID, one.Path, one.Summary = "getDetailedPage", "/v2/pages/{workspaceSlug}/{slug...}", "Read a page to show it"
	one.Description = "A page with everything that a renderer needs. {{config.…}} in blocks is replaced by the configuration of the workspace, " +
		"except for what its schema calls secret; other variables stay. Pages that everybody may read need no credential. " +
		"The page that is called permissions is at permissions/."
	restapi.Register(api, one, func(ctx context.Context, in *detailedPageInput) (*documentOutput, error) {
		return detailedPage(ctx, p, in.WorkspaceSlug, strings.TrimSuffix(in.Slug, "/"))
	})
	root.ID, root.Path, root.Summary = "getRootPage", "/v2/pages/{workspaceSlug}", "Read the root page to show it"
	root.Description = "The page " + rootPage + " of a workspace, with everything that a renderer needs."
	restapi.Register(api, root, func(ctx context.Context, in *InSite) (*documentOutput, error) {
		return detailedPage(ctx, p, in.WorkspaceSlug, rootPage)
	})
}

func detailedPage(ctx context.Context, p *pages.Pages, workspaceSlug, slug string) (*documentOutput, error) {
	page, err := p.Detailed(ctx, workspaceSlug, slug)
	if err != nil {
		return nil, err
	}
	return &documentOutput{Status: http.StatusOK, ContentType: mediaJSON, Body: append(page, '\n')}, nil
}
