package apps

import (
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/definitions"
)

// Outline is what is known of a version of an app without reading its documents.
type Outline struct {
	Name string `json:"name"`
	// Description is JSON: a text, or texts by language.
	Description json.RawMessage `json:"description"`
	Photo       string          `json:"photo"`
	Labels      []string        `json:"labels"`
	// Documented tells that it has a page with its documentation.
	Documented bool      `json:"documented,omitempty"`
	Config     AppConfig `json:"config"`
	// Automations are by slug, also those that are private.
	Automations map[string]OfferedAutomation `json:"automations"`
	Events      dsul.Events                  `json:"events"`
	Blocks      map[string]json.RawMessage   `json:"blocks"`
	// Uses are the apps that it has instances of itself.
	Uses []Use `json:"uses,omitempty"`
}

// AppConfig is the configuration of an app that its instances can set. The values that the app itself has are never shown.
type AppConfig struct {
	Schema json.RawMessage `json:"schema,omitempty" doc:"The fields, by name."`
	Block  string          `json:"block,omitempty" doc:"The block that edits it."`
}

// OfferedAutomation is an automation of an app as those see it who may call it.
type OfferedAutomation struct {
	Name        json.RawMessage `json:"name,omitempty" doc:"The name people see: a text, or texts by language."`
	Description json.RawMessage `json:"description,omitempty" doc:"What it is for."`
	Arguments   json.RawMessage `json:"arguments,omitempty" doc:"The arguments it takes, by name."`
	Private     bool            `json:"private,omitempty" doc:"Whether only the app itself may call it."`
}

// Use is an app in a version that something has an instance of.
type Use struct {
	AppSlug    string `json:"appSlug"`
	AppVersion string `json:"appVersion,omitempty"`
}

// Documentation is the slug of the page that documents an app.
const Documentation = "_doc"

// outlineOf reads what is known of a version from its documents.
func outlineOf(files []definitions.File) (Outline, error) {
	o := Outline{
		Labels: []string{}, Automations: map[string]OfferedAutomation{}, Blocks: map[string]json.RawMessage{},
		Events: dsul.Events{Emit: []string{}, Listen: []string{}, Autocomplete: []dsul.Autocomplete{}},
	}
	for _, file := range files {
		kind, slug, _ := dsul.SplitPath(file.Path)
		doc, problems := dsul.Parse(kind, slug, file.Text)
		if err := problems.Err(); err != nil {
			return o, err
		}
		o.take(doc)
	}
	for _, names := range []*[]string{&o.Events.Emit, &o.Events.Listen} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return o, nil
}

// take notes what a document adds to the version.
func (o *Outline) take(doc *dsul.Document) {
	summary := doc.Summary()
	switch doc.Kind {
	case dsul.Index:
		o.index(doc)
	case dsul.Automation:
		o.Automations[summary.Slug] = OfferedAutomation{
			Name: summary.Name, Description: summary.Description, Arguments: summary.Arguments, Private: summary.Private,
		}
	case dsul.Page:
		o.Documented = o.Documented || summary.Slug == Documentation
	case dsul.Import:
		o.Uses = append(o.Uses, Use{AppSlug: summary.AppSlug, AppVersion: summary.AppVersion})
	case dsul.Security:
	}
	if summary.Events != nil {
		o.Events.Emit = append(o.Events.Emit, summary.Events.Emit...)
		o.Events.Listen = append(o.Events.Listen, summary.Events.Listen...)
		o.Events.Autocomplete = append(o.Events.Autocomplete, summary.Events.Autocomplete...)
	}
}

// index notes what the index says of the app itself.
func (o *Outline) index(index *dsul.Document) {
	o.Name, o.Photo, o.Labels = textAt(index, "name"), textAt(index, "photo"), definitions.Labels(index)
	if said := index.Get("description"); definitions.FirstText(said) != "" {
		o.Description = dsul.JSON(said)
	}
	if schema := index.Get("config", "schema"); schema != nil && schema.Kind == yaml.MappingNode {
		o.Config.Schema = dsul.JSON(schema)
	}
	o.Config.Block = textAt(index, "config", "block")
	var blocks map[string]json.RawMessage
	if said := index.Get("blocks"); said == nil || json.Unmarshal(dsul.JSON(said), &blocks) != nil {
		return
	}
	for slug, text := range blocks {
		o.Blocks[slug] = shownBlock(text)
	}
}

// shownBlock is a block as those see it who may use it: without what it is made of.
func shownBlock(text json.RawMessage) json.RawMessage {
	var block map[string]json.RawMessage
	_ = json.Unmarshal(text, &block) // what is no object shows nothing
	shown := map[string]json.RawMessage{}
	for _, key := range []string{"name", "description", "photo", "url", "schema", "edit"} {
		if block[key] != nil {
			shown[key] = block[key]
		}
	}
	out, _ := json.Marshal(shown) // it was JSON a moment ago
	return out
}

func textAt(doc *dsul.Document, path ...string) string {
	n := doc.Get(path...)
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return definitions.FirstText(n)
}

// lacking refuses to publish what people could not tell from other apps.
func (o *Outline) lacking() error {
	var fields []errs.Field
	if o.Photo == "" {
		fields = append(fields, errs.Field{Field: "photo", Message: "give the workspace a photo: an app is shown with it"})
	}
	if len(o.Description) == 0 {
		fields = append(fields, errs.Field{Field: "description", Message: "give the workspace a description: an app is shown with it"})
	}
	if len(fields) > 0 {
		return errs.Invalid(fields...)
	}
	return nil
}

// Callable are the automations that whoever has an instance of the app may call.
func (o *Outline) Callable() map[string]OfferedAutomation {
	callable := make(map[string]OfferedAutomation, len(o.Automations))
	for slug, automation := range o.Automations {
		if !automation.Private {
			callable[slug] = automation
		}
	}
	return callable
}
