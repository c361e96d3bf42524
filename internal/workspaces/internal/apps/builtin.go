package apps

import (
	"encoding/json"

	"atelier/internal/dsul"
	"atelier/internal/dsul/builtin"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// platformApp is an app that is part of the platform; false for any other. Nobody has published it, and everybody may use it.
func platformApp(slug string) (App, bool) {
	known, ok := builtin.Find(slug)
	if !ok {
		return App{}, false
	}
	since := sqldb.Time(0) // always
	return App{
		Slug: known.Slug, Version: builtin.Version, CreatedAt: since, UpdatedAt: since, Outline: outlineOfBuiltin(known),
		Versions: []Version{{Name: builtin.Version, CreatedAt: since}},
	}, true
}

func outlineOfBuiltin(app builtin.App) Outline {
	description, _ := json.Marshal(app.Description) // a text
	o := Outline{
		Name: app.Name, Description: description, Labels: []string{}, Config: AppConfig{Schema: json.RawMessage(app.Config)},
		Automations: make(map[string]OfferedAutomation, len(app.Automations)), Blocks: map[string]json.RawMessage{},
		Events: dsul.Events{Emit: []string{}, Listen: []string{}, Autocomplete: []dsul.Autocomplete{}},
	}
	for slug, text := range app.Automations {
		var offered OfferedAutomation
		_ = json.Unmarshal([]byte(text), &offered) // what it is called is enough to call it
		o.Automations[slug] = offered
	}
	return o
}

// vetBuiltin refuses an instance of a version that a built-in app does not have.
func vetBuiltin(use Use) error {
	if use.AppVersion != Current {
		return errs.Invalid(errs.Field{Field: "appVersion", Message: "a built-in app has one version; leave it out"})
	}
	return nil
}
