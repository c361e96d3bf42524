package rest

import "encoding/json"

// Text is a text, or texts by language.
type Text = json.RawMessage

// Automation describes an automation for readers of the API document; the language itself is in the guide.
type Automation struct {
	Slug              string          `json:"slug,omitempty" doc:"The technical name, by which it is called; made from the name when absent."`
	Name              Text            `json:"name,omitempty" doc:"The name people see: a text, or texts by language. A new one needs it."`
	Description       Text            `json:"description,omitempty" doc:"What it is for."`
	When              json.RawMessage `json:"when,omitempty" doc:"What starts it: events, endpoint, schedules."`
	Arguments         map[string]any  `json:"arguments,omitempty" doc:"The arguments it takes, by name."`
	Schemas           []any           `json:"schemas,omitempty" doc:"Schemas of the payload and the output, by conditions."`
	ValidateArguments *bool           `json:"validateArguments,omitempty" doc:"Whether the payload is validated before it runs."`
	Do                []any           `json:"do,omitempty" doc:"The instructions, in order. A new one needs them."`
	Output            any             `json:"output,omitempty" doc:"What it answers."`
	Private           *bool           `json:"private,omitempty" doc:"Whether it is hidden from workspaces that install this one as an app."`
	Disabled          *bool           `json:"disabled,omitempty" doc:"Whether it is switched off."`
	Authorizations    map[string]any  `json:"authorizations,omitempty" doc:"Which permission running it needs."`
	Labels            []string        `json:"labels,omitempty" doc:"Labels."`
}

// PageDefinition describes a page for readers of the API document.
type PageDefinition struct {
	Slug        string          `json:"slug,omitempty" doc:"The technical name, part of its address; made from the name when absent."`
	Name        Text            `json:"name,omitempty" doc:"The name people see: a text, or texts by language. A new one needs it."`
	Description Text            `json:"description,omitempty" doc:"What it is for."`
	Labels      []string        `json:"labels,omitempty" doc:"Labels."`
	Blocks      []any           `json:"blocks,omitempty" doc:"What it shows: blocks, each with its slug and its configuration."`
	Styles      string          `json:"styles,omitempty" doc:"CSS of the page."`
	OnInit      json.RawMessage `json:"onInit,omitempty" doc:"The event that it emits when it opens."`
	UpdateOn    string          `json:"updateOn,omitempty" doc:"The event that updates it."`
	NotifyOn    string          `json:"notifyOn,omitempty" doc:"The event that shows a notification."`
	Automation  json.RawMessage `json:"automation,omitempty" doc:"The automation that gives it its data."`
	ColorScheme string          `json:"colorScheme,omitempty" enum:"auto,light,dark" doc:"Its colours."`
	Favicon     string          `json:"favicon,omitempty" doc:"The address of its icon."`
}

// WorkspaceDefinition is what callers may set of a workspace: its index.
type WorkspaceDefinition struct {
	Name              string                          `json:"name,omitempty" minLength:"1" maxLength:"60" example:"Orders" doc:"The name people see. A new workspace needs one."`
	Slug              string                          `json:"slug,omitempty" maxLength:"64" example:"orders" doc:"The technical name; made from the name when absent."`
	Description       Text                            `json:"description,omitempty" example:"\"Takes orders\"" doc:"What it is for: a text, or texts by language."`
	Photo             string                          `json:"photo,omitempty" example:"https://example.com/orders.png" doc:"The address of its picture."`
	Labels            []string                        `json:"labels,omitempty" example:"[\"team:sales\"]" doc:"Labels, for filters and groups."`
	Config            map[string]any                  `json:"config,omitempty" example:"{\"value\":{}}" doc:"Its configuration: schema, block and value."`
	Blocks            map[string]any                  `json:"blocks,omitempty" example:"{}" doc:"Its own blocks, by slug."`
	RegisterWorkspace *bool                           `json:"registerWorkspace,omitempty" doc:"Whether other workspaces can look it up by its slug."`
	Secrets           map[string]any                  `json:"secrets,omitempty" example:"{}" doc:"The schema of the secrets that it expects."`
	Events            map[string]any                  `json:"events,omitempty" example:"{}" doc:"The types of its events."`
	Repositories      map[string]RepositoryDefinition `json:"repositories,omitempty" example:"{}" doc:"What it is pushed to and pulled from, by id: 1 to 60 letters, digits, spaces and . _ -. They are replaced as a whole. Setting them needs manage_repositories."`
}
