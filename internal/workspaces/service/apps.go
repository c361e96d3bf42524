package service

import (
	"context"
	"encoding/json"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/apps"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/secrets"
)

// references are what documents can refer to beyond their workspace.
type references struct {
	*apps.Apps

	secrets *secrets.Secrets
}

// SecretNames lists what {{secret.name}} may name in a workspace.
func (r references) SecretNames(ctx context.Context, reader sqldb.Reader, workspaceID string) ([]string, error) {
	return r.secrets.Names(ctx, reader, workspaceID)
}

// publisher publishes the apps of archives.
type publisher struct{ apps *apps.Apps }

// Of gives the app that a workspace publishes, as archives know it.
func (p publisher) Of(ctx context.Context, r sqldb.Reader, workspaceID string) (*archive.AppInfo, error) {
	app, err := p.apps.Of(ctx, r, workspaceID)
	if err != nil || app == nil {
		return nil, err
	}
	info := &archive.AppInfo{Slug: app.Slug, Name: app.Outline.Name}
	_ = json.Unmarshal(app.Outline.Description, &info.Description) // texts by language are in the index; archives have one text
	return info, nil
}

// Schema is that of the configuration of an app's instances.
func (p publisher) Schema(ctx context.Context, r sqldb.Reader, appSlug, version string) (json.RawMessage, error) {
	return p.apps.Schema(ctx, r, appSlug, version)
}

// Publish publishes a workspace as an app, unless that has the same documents already.
func (p publisher) Publish(ctx context.Context, workspaceID string, app archive.AppInfo) error {
	_, _, err := p.apps.Publish(ctx, apps.Publication{Workspace: workspaceID, Slug: app.Slug, Name: app.Name, Changed: true})
	return err
}
