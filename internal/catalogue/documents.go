package catalogue

import (
	"encoding/json"
	"time"
)

// Automation is the payload of workspaces.automations.created and .updated.
type Automation struct {
	Verb       Verb            `json:"-"`
	Slug       string          `json:"slug" doc:"Its slug."`
	OldSlug    string          `json:"oldSlug,omitempty" doc:"Its former slug, when that changed."`
	Automation json.RawMessage `json:"automation,omitempty" doc:"The automation."`
	Events     any             `json:"events,omitempty" doc:"The events that it emits and listens to."`
	Stripped
}

// EventType names the event.
func (e *Automation) EventType() string { return "workspaces.automations." + string(e.Verb) }

// AutomationDeleted is the payload of workspaces.automations.deleted.
type AutomationDeleted struct {
	AutomationSlug string `json:"automationSlug" doc:"Its slug."`
	Stripped
}

// EventType names the event.
func (*AutomationDeleted) EventType() string { return "workspaces.automations.deleted" }

// Page is the payload of workspaces.pages.created and .updated.
type Page struct {
	Verb    Verb            `json:"-"`
	PageID  string          `json:"pageId" doc:"Its id."`
	Slug    string          `json:"slug" doc:"Its slug."`
	OldSlug string          `json:"oldSlug,omitempty" doc:"Its former slug, when that changed."`
	Page    json.RawMessage `json:"page,omitempty" doc:"The page."`
	Events  any             `json:"events,omitempty" doc:"The events that it emits and listens to."`
	Stripped
}

// EventType names the event.
func (e *Page) EventType() string { return "workspaces.pages." + string(e.Verb) }

// PageDeleted is the payload of workspaces.pages.deleted.
type PageDeleted struct {
	PageSlug string `json:"pageSlug" doc:"Its slug."`
	Stripped
}

// EventType names the event.
func (*PageDeleted) EventType() string { return "workspaces.pages.deleted" }

// BlocksUpdated is the payload of workspaces.blocks.updated.
type BlocksUpdated struct {
	Blocks        json.RawMessage `json:"blocks,omitempty" doc:"The blocks that the workspace offers; null when there are none."`
	WorkspaceSlug string          `json:"workspaceSlug" doc:"The slug of the workspace."`
	Stripped
}

// EventType names the event.
func (*BlocksUpdated) EventType() string { return "workspaces.blocks.updated" }

// EventsUpdated is the payload of workspaces.events.updated.
type EventsUpdated struct {
	Events json.RawMessage `json:"events,omitempty" doc:"The events that the workspace declares; null when there are none."`
	Stripped
}

// EventType names the event.
func (*EventsUpdated) EventType() string { return "workspaces.events.updated" }

// AppInstance is the payload of workspaces.apps.installed and .configured.
type AppInstance struct {
	Verb        Verb          `json:"-"`
	Slug        string        `json:"slug" doc:"The slug of the instance."`
	OldSlug     string        `json:"oldSlug,omitempty" doc:"Its former slug, when that changed."`
	AppSlug     string        `json:"appSlug" doc:"The app."`
	AppInstance *InstalledApp `json:"appInstance,omitempty" doc:"The instance."`
	Events      any           `json:"events,omitempty" doc:"The events of the app; absent when the app is not known."`
	Stripped
}

// InstalledApp is what events say of an app instance. Values that the app calls secret have no place in it.
type InstalledApp struct {
	Slug       string          `json:"slug" doc:"Its slug."`
	AppSlug    json.RawMessage `json:"appSlug,omitempty" doc:"The app."`
	AppName    json.RawMessage `json:"appName,omitempty" doc:"What the app is called."`
	AppVersion json.RawMessage `json:"appVersion,omitempty" doc:"The version of the app."`
	Disabled   json.RawMessage `json:"disabled,omitempty" doc:"Whether it is turned off."`
	Labels     json.RawMessage `json:"labels,omitempty" doc:"Its labels."`
	Config     any             `json:"config,omitempty" doc:"Its configuration."`
	OldConfig  any             `json:"oldConfig,omitempty" doc:"Its former configuration, when that changed."`
}

// EventType names the event.
func (e *AppInstance) EventType() string { return "workspaces.apps." + string(e.Verb) }

// AppUninstalled is the payload of workspaces.apps.uninstalled.
type AppUninstalled struct {
	Slug    string `json:"slug" doc:"The slug of the instance."`
	AppSlug string `json:"appSlug" doc:"The app."`
	Stripped
}

// EventType names the event.
func (*AppUninstalled) EventType() string { return "workspaces.apps.uninstalled" }

// AppPublished is the payload of apps.published.
type AppPublished struct {
	AppSlug string `json:"appSlug" doc:"The app."`
	App     *App   `json:"app,omitempty" doc:"What it is."`
	Stripped
}

// App is what events say of an app.
type App struct {
	WorkspaceID   string          `json:"workspaceId" doc:"The workspace that publishes it."`
	Slug          string          `json:"slug" doc:"Its slug."`
	Name          string          `json:"name" doc:"Its name."`
	Description   json.RawMessage `json:"description" doc:"What it is for: a text, or texts by language."`
	Photo         string          `json:"photo" doc:"Its picture."`
	Labels        []string        `json:"labels" doc:"Its labels."`
	Config        any             `json:"config" doc:"What can be configured."`
	Version       Version         `json:"version" doc:"The newest version."`
	Documentation *AppPage        `json:"documentation,omitempty" doc:"The page with its documentation."`
}

// AppPage is a page of an app.
type AppPage struct {
	WorkspaceSlug string `json:"workspaceSlug" doc:"The workspace of the page."`
	Slug          string `json:"slug" doc:"The page."`
}

// EventType names the event.
func (*AppPublished) EventType() string { return "apps.published" }

// AppDeleted is the payload of apps.deleted.
type AppDeleted struct {
	AppSlug string `json:"appSlug" doc:"The app."`
	Stripped
}

// EventType names the event.
func (*AppDeleted) EventType() string { return "apps.deleted" }

// Version is what events say of a version.
type Version struct {
	Name        string          `json:"name" doc:"Its name."`
	Type        string          `json:"type,omitempty" doc:"git, for a commit."`
	Description json.RawMessage `json:"description,omitempty" doc:"What is new: a text, or texts by language."`
	CreatedAt   time.Time       `json:"createdAt,omitzero" doc:"When it was made."`
	CreatedBy   *string         `json:"createdBy,omitempty" doc:"Who made it."`
	Repository  *RepositoryRef  `json:"repository,omitempty" doc:"The repository that has it."`
	Commit      string          `json:"commit,omitempty" doc:"The commit there."`
}

// RepositoryRef names a repository.
type RepositoryRef struct {
	ID string `json:"id" doc:"Its id."`
}

// VersionPublished is the payload of workspaces.versions.published.
type VersionPublished struct {
	Version *Version `json:"version,omitempty" doc:"The version."`
	Changes any      `json:"changes,omitempty" doc:"What a push changed: files, created, deleted, insertions, deletions and a summary."`
	Stripped
}

// EventType names the event.
func (*VersionPublished) EventType() string { return "workspaces.versions.published" }

// VersionDeleted is the payload of workspaces.versions.deleted.
type VersionDeleted struct {
	Version Version `json:"version" doc:"The version."`
	Stripped
}

// EventType names the event.
func (*VersionDeleted) EventType() string { return "workspaces.versions.deleted" }
