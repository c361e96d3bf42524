package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"atelier/internal/dsul"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/apps"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// InstanceDefinition describes an app instance for readers of the API document.
type InstanceDefinition struct {
	AppSlug    string         `json:"appSlug" doc:"The app."`
	AppName    string         `json:"appName,omitempty" doc:"The name of the app."`
	AppVersion string         `json:"appVersion,omitempty" doc:"The version of the app; current, which is the same as none, follows its newest."`
	Slug       string         `json:"slug,omitempty" doc:"The technical name, by which its automations are called; that of the app when absent."`
	Disabled   *bool          `json:"disabled,omitempty" doc:"Whether it is switched off."`
	Labels     []string       `json:"labels,omitempty" doc:"Labels."`
	Config     map[string]any `json:"config,omitempty" doc:"Its configuration: values for the fields of the app's config.schema."`
}

// InstalledApp is an app instance as lists show it, with what its app offers.
type InstalledApp struct {
	Slug        string                            `json:"slug" doc:"The technical name, by which its automations are called."`
	AppSlug     string                            `json:"appSlug" doc:"The app."`
	AppName     string                            `json:"appName,omitempty" doc:"The name of the app."`
	AppVersion  string                            `json:"appVersion" doc:"The version of the app; current follows its newest."`
	Disabled    bool                              `json:"disabled,omitempty" doc:"Whether it is switched off."`
	Labels      []string                          `json:"labels,omitempty" doc:"Labels."`
	Unknown     bool                              `json:"unknown,omitempty" doc:"Whether there is no such app, or no such version of it: it does nothing."`
	Photo       string                            `json:"photo,omitempty" doc:"The address of the app's picture."`
	Automations map[string]apps.OfferedAutomation `json:"automations" nullable:"false" doc:"The automations that can be called, by slug; call one by the slug of the instance, a dot and its own."`
	Events      dsul.Events                       `json:"events" doc:"The events that the app emits and listens to, as it calls them; here the slug of the instance and a dot come before."`
	Blocks      map[string]json.RawMessage        `json:"blocks" nullable:"false" doc:"The blocks of the app, by slug."`
	Checksum    string                            `json:"checksum" doc:"The SHA-256 of the text."`
	CreatedAt   time.Time                         `json:"createdAt" doc:"When it was installed."`
	CreatedBy   string                            `json:"createdBy,omitempty" doc:"By whom."`
	UpdatedAt   time.Time                         `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy   string                            `json:"updatedBy,omitempty" doc:"By whom."`
}

func installedView(i apps.Instance) InstalledApp {
	shown := InstalledApp{
		Slug: i.Slug, AppSlug: i.AppSlug, AppName: i.AppName, AppVersion: i.AppVersion, Disabled: i.Disabled, Labels: i.Labels, Unknown: i.Outline == nil,
		Automations: map[string]apps.OfferedAutomation{}, Blocks: map[string]json.RawMessage{},
		Events:   dsul.Events{Emit: []string{}, Listen: []string{}, Autocomplete: []dsul.Autocomplete{}},
		Checksum: i.Checksum, CreatedAt: i.CreatedAt, CreatedBy: i.CreatedBy, UpdatedAt: i.UpdatedAt, UpdatedBy: i.UpdatedBy,
	}
	if shown.AppVersion == "" {
		shown.AppVersion = apps.Current
	}
	if i.Outline == nil {
		return shown
	}
	if shown.AppName == "" {
		shown.AppName = i.Outline.Name
	}
	shown.Photo, shown.Automations, shown.Events, shown.Blocks = i.Outline.Photo, i.Outline.Callable(), i.Outline.Events, i.Outline.Blocks
	return shown
}

type installedOutput struct {
	restapi.Listed
	Body []InstalledApp
}

const instancesPath = "/v2/workspaces/{workspaceId}/apps"

// registerInstances adds the operations on the app instances of a workspace, which are documents like automations and pages.
func registerInstances(api *restapi.API, a *apps.Apps, cursors *restapi.Cursors) {
	d := a.Definitions
	r := resource{kind: dsul.Import, name: "appInstance", names: "apps", tag: "App instances", of: InstanceDefinition{}, vet: a.Vet}
	const one = instancesPath + "/{slug...}"
	list := r.operation("list", http.MethodGet, instancesPath, "List app instances")
	list.ID += "s"
	list.Description = "With the automations, the events, the blocks and the photo of each app in the version that is used."
	restapi.Register(api, list, func(ctx context.Context, in *metasInput) (*installedOutput, error) {
		return listInstances(ctx, a, cursors, in)
	})
	install := r.operation("create", http.MethodPost, instancesPath, "Install an app")
	install.ID, install.Status, install.Takes, install.Gives = "installApp", http.StatusCreated, r.forms(), r.forms()[:1]
	install.Description = "Adds an instance of an app. Without a version it follows the app: what is published next is used at once."
	restapi.Register(api, install, func(ctx context.Context, in *addInput) (*documentOutput, error) { return r.create(ctx, d, in) })
	read := r.operation("get", http.MethodGet, one, "Read an app instance")
	read.Gives = r.forms()
	restapi.Register(api, read, func(ctx context.Context, in *readInput) (*documentOutput, error) {
		slug, config := strings.CutSuffix(in.Slug, apps.ConfigPath)
		stored, err := d.Read(ctx, in.WorkspaceID, r.kind, slug)
		if config {
			return configAnswer(stored, err)
		}
		return shown(stored, err, in.Accept)
	})
	replace := r.operation("replace", http.MethodPut, one, "Replace an app instance, or add it")
	replace.Takes, replace.Gives = r.forms(), r.forms()[:1]
	replace.Description = "What was written elsewhere in the text survives: a JSON body changes only what differs. A body with another slug renames it."
	restapi.Register(api, replace, func(ctx context.Context, in *writeInput) (*documentOutput, error) { return r.write(ctx, d, in, false) })
	update := r.operation("update", http.MethodPatch, one, "Change keys of an app instance")
	update.Takes, update.Gives = r.forms()[:1], r.forms()[:1]
	update.Description = "Replaces the keys that the body has and removes those that are null; comments and order of the rest survive."
	restapi.Register(api, update, func(ctx context.Context, in *writeInput) (*documentOutput, error) {
		if slug, config := strings.CutSuffix(in.Slug, apps.ConfigPath); config {
			in.Slug = slug
			return configure(ctx, d, in)
		}
		return r.write(ctx, d, in, true)
	})
	uninstall := r.operation("delete", http.MethodDelete, one, "Uninstall an app")
	uninstall.ID = "uninstallApp"
	restapi.Register(api, uninstall, func(ctx context.Context, in *removeInput) (*removedOutput, error) {
		out := &removedOutput{}
		out.Body.ID, out.Body.Slug = in.Slug, in.Slug
		return out, d.Remove(ctx, in.WorkspaceID, definitions.Write{Kind: r.kind, Slug: in.Slug, IfMatch: in.IfMatch})
	})
	registerInstanceConfig(api, d, r)
}

// registerInstanceConfig adds the operations on the configuration of an app instance alone. When the slug has slashes, those on
// the instance itself answer.
func registerInstanceConfig(api *restapi.API, d *definitions.Definitions, r resource) {
	const path = instancesPath + "/{slug}/config"
	form := []restapi.Media{{Type: mediaJSON, Of: map[string]json.RawMessage{}}}
	read := r.operation("get", http.MethodGet, path, "Read the configuration of an app instance")
	read.ID, read.Gives = "getAppInstanceConfig", form
	restapi.Register(api, read, func(ctx context.Context, in *OfDocument) (*documentOutput, error) {
		stored, err := d.Read(ctx, in.WorkspaceID, r.kind, in.Slug)
		return configAnswer(stored, err)
	})
	update := r.operation("update", http.MethodPatch, path, "Configure an app instance")
	update.ID, update.Takes, update.Gives = "updateAppInstanceConfig", form, form
	update.Description = "Replaces the values that the body has and removes those that are null. When nothing is different afterwards, nothing happens."
	restapi.Register(api, update, func(ctx context.Context, in *writeInput) (*documentOutput, error) { return configure(ctx, d, in) })
}

func configure(ctx context.Context, d *definitions.Definitions, in *writeInput) (*documentOutput, error) {
	if err := checkJSON(in.RawBody); err != nil {
		return nil, err
	}
	stored, err := d.UpdateInstance(ctx, in.WorkspaceID, definitions.Write{Slug: in.Slug, IfMatch: in.IfMatch, Body: in.RawBody})
	return configAnswer(stored, err)
}

// configAnswer shows the configuration of an app instance; an empty object when it has none.
func configAnswer(stored definitions.Stored, err error) (*documentOutput, error) {
	if err != nil {
		return nil, err
	}
	config := []byte("{}")
	if n := stored.Parsed.Get("config"); n != nil {
		config = dsul.JSON(n)
	}
	return &documentOutput{Status: http.StatusOK, ETag: restapi.ETag(stored.Revision), ContentType: mediaJSON, Body: append(config, '\n')}, nil
}

func listInstances(ctx context.Context, a *apps.Apps, cursors *restapi.Cursors, in *metasInput) (*installedOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{"search": in.Search, "label": in.Label} {
		if value != "" {
			query.Set(name, value)
		}
	}
	path := "/v2/workspaces/" + in.WorkspaceID + "/apps"
	offset, err := in.From(ctx, cursors, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, err := a.Instances(ctx, in.WorkspaceID, store.DocumentQuery{
		Search: in.Search, Label: in.Label, Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"),
		Limit: in.Limit, Offset: offset,
	})
	if err != nil {
		return nil, err
	}
	out := &installedOutput{Body: make([]InstalledApp, 0, len(found))}
	for _, i := range found {
		out.Body = append(out.Body, installedView(i))
	}
	out.Listed, err = restapi.NewListed(ctx, cursors, restapi.Place{Path: path, Query: query, Next: nextOf(offset, len(found), total), Total: total})
	return out, err
}
