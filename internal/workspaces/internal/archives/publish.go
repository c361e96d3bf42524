package archives

import (
	"context"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/store"
)

// publish publishes the workspace as the app that its archive was. The import is done by then: what goes wrong is reported.
func (a *Archives) publish(ctx context.Context, workspaceID string, info *archive.ImportInfo, result *Result) {
	if info == nil || info.App == nil || a.Apps == nil {
		return
	}
	if err := a.Apps.Publish(ctx, workspaceID, *info.App); err != nil {
		result.Findings = append(result.Findings, Finding{Msg: "The app " + info.App.Slug + " was not published: " + reason(err), Err: string(errs.CodeOf(err))})
		return
	}
	result.Published = append(result.Published, info.App.Slug)
}

// planned tells of the app that an import would try to publish.
func (a *Archives) planned(info *archive.ImportInfo, result *Result) {
	if info != nil && info.App != nil && a.Apps != nil {
		result.Published = append(result.Published, info.App.Slug)
	}
}

// publications lists the apps that some workspaces publish, each behind those that it needs.
func (a *Archives) publications(ctx context.Context, of []workspaces.Workspace) ([]archive.PublishApp, error) {
	var apps []archive.PublishApp
	needs := map[string][]string{}
	for _, w := range of {
		app, err := a.Apps.Of(ctx, a.DB, w.ID)
		if err != nil {
			return nil, err
		}
		if app == nil {
			continue
		}
		tree, err := store.Tree(ctx, a.DB, w.ID)
		if err != nil {
			return nil, err
		}
		if needs[app.Slug], err = a.dependencies(ctx, w.ID, tree); err != nil {
			return nil, err
		}
		apps = append(apps, archive.PublishApp{WorkspaceID: w.ID, Slug: app.Slug, Name: app.Name, Description: app.Description, Photo: w.Photo})
	}
	return inOrder(apps, needs), nil
}

// inOrder puts each app behind those that it needs, as far as that goes.
func inOrder(apps []archive.PublishApp, needs map[string][]string) []archive.PublishApp {
	ordered := make([]archive.PublishApp, 0, len(apps))
	seen := map[string]bool{}
	var add func(slug string)
	add = func(slug string) {
		at := slices.IndexFunc(apps, func(app archive.PublishApp) bool { return app.Slug == slug })
		if seen[slug] || at < 0 {
			return
		}
		seen[slug] = true
		for _, needed := range needs[slug] {
			add(strings.TrimPrefix(needed, "app/"))
		}
		ordered = append(ordered, apps[at])
	}
	for _, app := range apps {
		add(app.Slug)
	}
	return ordered
}
