package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/builtin"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// ConfigPath ends the address of the configuration of an instance, and so the slug of none.
const ConfigPath = "/config"

// Instance is an app instance of a workspace as lists show it.
type Instance struct {
	definitions.Meta

	// Outline is that of its app in its version; nil when there is no such app that the caller may read, or no such version.
	Outline *Outline
}

// Instances lists the app instances of a workspace that the caller may read, and how many there are in all.
func (a *Apps) Instances(ctx context.Context, ref string, q store.DocumentQuery) ([]Instance, int, error) {
	found, total, err := a.Definitions.List(ctx, ref, dsul.Import, q)
	if err != nil {
		return nil, 0, err
	}
	known := map[Use]*Outline{}
	all := make([]Instance, 0, len(found))
	for _, document := range found {
		meta, err := definitions.MetaOf(document)
		if err != nil {
			return nil, 0, err
		}
		use := Use{AppSlug: meta.AppSlug, AppVersion: orCurrent(meta.AppVersion)}
		if _, seen := known[use]; !seen {
			if known[use], err = a.usable(ctx, a.DB, use.AppSlug, use.AppVersion); err != nil {
				return nil, 0, err
			}
		}
		all = append(all, Instance{Meta: meta, Outline: known[use]})
	}
	return all, total, nil
}

// outline is what is known of a version of an app; nil when there is none.
func (a *Apps) outline(ctx context.Context, r sqldb.Reader, slug, version string) (*Outline, error) {
	if app, known := platformApp(slug); known {
		return &app.Outline, nil
	}
	o, err := outline(ctx, r, slug, version)
	if sqldb.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return &o, err
}

// usable is outline for an instance of an app. Instances also come with archives and older versions of a workspace, where
// nobody vets them: of an app that the caller may not read there is nothing to see.
func (a *Apps) usable(ctx context.Context, r sqldb.Reader, slug, version string) (*Outline, error) {
	if app, known := platformApp(slug); known {
		return &app.Outline, nil
	}
	app, err := get(ctx, r, slug)
	if sqldb.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	if readable, err := a.mayUse(ctx, r, app); err != nil || !readable {
		return nil, err
	}
	return a.outline(ctx, r, slug, version)
}

// mayUse tells whether the caller may read an app through an instance of it. A key is known in its own workspace alone:
// elsewhere it reads what everybody does.
func (a *Apps) mayUse(ctx context.Context, r sqldb.Reader, app App) (bool, error) {
	readable, err := a.mayRead(ctx, r, app)
	if who := access.From(ctx).Kind; err != nil || readable || app.WorkspaceSlug == "" || who != access.Key && who != access.Internal {
		return readable, err
	}
	return a.mayRead(access.With(ctx, access.Principal{}), r, app)
}

// Vet refuses an app instance of an app, or of a version, that does not exist or that the caller may not read, and one
// through which the app of the workspace would contain itself. An instance whose app stays the same is not looked at: it may
// have come from elsewhere, and can still be switched off.
func (a *Apps) Vet(ctx context.Context, e *definitions.Edit, before, after *dsul.Document) error {
	if strings.HasSuffix(after.Slug, ConfigPath) && (before == nil || before.Slug != after.Slug) {
		return errs.Invalid(errs.Field{Field: "slug", Message: "it cannot end in /config: that is the address of a configuration"})
	}
	use := useOf(after)
	if before != nil && useOf(before) == use {
		return nil
	}
	if builtin.Taken(use.AppSlug) {
		if _, known := platformApp(use.AppSlug); !known { // it differs in case
			return noSuchApp(use)
		}
		return vetBuiltin(use)
	}
	if there, err := hold(ctx, e.Tx, use.AppSlug); err != nil || !there {
		if err == nil {
			err = noSuchApp(use)
		}
		return err
	}
	if _, err := a.find(ctx, e.Tx, use.AppSlug); err != nil {
		if errs.CodeOf(err) == errs.NotFound {
			err = noSuchApp(use)
		}
		return err
	}
	o, err := a.outline(ctx, e.Tx, use.AppSlug, use.AppVersion)
	if err != nil {
		return err
	}
	if o == nil {
		return errs.Invalid(errs.Field{Field: "appVersion", Message: fmt.Sprintf("the app %s has no version %s; leave it out to follow the app", use.AppSlug, use.AppVersion)})
	}
	return a.vetRecursion(ctx, e, use)
}

// useOf is the app that an instance is of.
func useOf(doc *dsul.Document) Use {
	summary := doc.Summary()
	return Use{AppSlug: summary.AppSlug, AppVersion: orCurrent(summary.AppVersion)}
}

func noSuchApp(use Use) error {
	return errs.Invalid(errs.Field{Field: "appSlug", Message: fmt.Sprintf("there is no app %s; GET /v2/apps lists them", use.AppSlug)})
}

func (a *Apps) vetRecursion(ctx context.Context, e *definitions.Edit, use Use) error {
	own, err := ofWorkspace(ctx, e.Tx, e.Workspace.ID)
	if sqldb.IsNotFound(err) {
		return nil // what is not an app cannot be inside one
	}
	if err != nil {
		return err
	}
	found, endless, err := inside(ctx, e.Tx, own.Slug, []Use{use})
	if err != nil || found == nil && !endless {
		return err
	}
	return recursive("appSlug", own.Slug, found)
}

// AppFacts tells what an instance of an app offers to the documents of its workspace; false when there is no such app that
// the caller may read.
func (a *Apps) AppFacts(ctx context.Context, r sqldb.Reader, appSlug, version string) (*dsul.AppFacts, bool, error) {
	o, err := a.usable(ctx, r, appSlug, version)
	if err != nil || o == nil {
		return nil, false, err
	}
	facts := &dsul.AppFacts{Automations: make(map[string]bool, len(o.Automations)), Blocks: make([]string, 0, len(o.Blocks))}
	for slug, automation := range o.Automations {
		facts.Automations[slug] = automation.Private
	}
	for slug := range o.Blocks {
		facts.Blocks = append(facts.Blocks, slug)
	}
	return facts, true, nil
}

// AppShape tells what instances of an app depend on; nil when there is no such app that the caller may read.
func (a *Apps) AppShape(ctx context.Context, r sqldb.Reader, appSlug, version string) (*definitions.AppShape, error) {
	o, err := a.usable(ctx, r, appSlug, version)
	if err != nil || o == nil {
		return nil, err
	}
	return &definitions.AppShape{Config: o.Config.Schema, Events: o.Events}, nil
}

// Schema is that of the configuration of an app's instances, nil when there is none. It asks nobody whether the app may be
// read: it is for keeping secrets, never for showing.
func (a *Apps) Schema(ctx context.Context, r sqldb.Reader, appSlug, version string) (json.RawMessage, error) {
	o, err := a.outline(ctx, r, appSlug, version)
	if err != nil || o == nil {
		return nil, err
	}
	return o.Config.Schema, nil
}

// Of gives the app that a workspace publishes; nil when it publishes none.
func (a *Apps) Of(ctx context.Context, r sqldb.Reader, workspaceID string) (*App, error) {
	app, err := ofWorkspace(ctx, r, workspaceID)
	if sqldb.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	return &app, err
}
