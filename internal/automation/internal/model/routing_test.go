package model_test

import (
	"maps"
	"slices"
	"testing"

	"atelier/internal/envelope"
	"atelier/internal/sqldb/sqldbtest"
)

// town is a workspace with an app instance, and another one inside of that, each with ways in.
func town(t *testing.T) (*house, string) {
	t.Helper()
	h := newHouse(t, sqldbtest.SQLite(t, migrations()...))
	endpoint := func(id, slug string, path any, more object) {
		body := object{"when": object{"endpoint": path}}
		maps.Copy(body, more)
		h.automation(id, slug, body)
	}
	inner, outer, id := h.workspace("inner"), h.workspace("outer"), h.workspace("mine")
	endpoint(inner, "deep", true, nil)
	endpoint(inner, "deepparam", "things/:id", nil)
	h.automation(inner, "hears", object{"when": object{"events": []string{"ping", "apps.published", "workspaces.apps.installed"}}})
	h.publish(inner, "Inner")
	h.install(outer, "Inner", "in", nil)
	endpoint(outer, "open", "hook", nil)
	endpoint(outer, "closed", "private/hook", object{"private": true})
	endpoint(outer, "files", "*path", nil)
	h.automation(outer, "hears", object{"when": object{
		"events": []string{"ping", "in.ping", "workspaces.apps.configured", "workspaces.apps.installed", "workspaces.apps.uninstalled", "workspaces.deleted"}, "schedules": []string{"0 * * * *"},
	}})
	h.automation(outer, "secretly", object{"private": true, "when": object{"events": []string{"ping"}, "schedules": []string{"1 * * * *"}}})
	h.publish(outer, "Outer")
	h.install(id, "Outer", "my app", nil)
	endpoint(id, "Plain slug", true, nil)
	endpoint(id, "a twin", "same", nil)
	endpoint(id, "b twin", "same", nil)
	endpoint(id, "exact", "users/me", nil)
	endpoint(id, "m user", "users/:id", nil)
	endpoint(id, "n user", "users/:other", nil)
	endpoint(id, "p verb", "message:stream", nil)
	endpoint(id, "q two", "users/:id/files/*path", nil)
	endpoint(id, "r middle", "in/*path/out", nil)
	endpoint(id, "t off", "off", object{"disabled": true})
	endpoint(id, "u none", false, nil)
	endpoint(id, "v private", "mine", object{"private": true})
	return h, id
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	h, id := town(t)
	m := h.of(id)
	type params = map[string]string
	for path, want := range map[string]struct {
		slugs  []string
		params params
	}{
		"Plain%20slug":                {[]string{"Plain slug"}, nil},
		"/Plain slug":                 {[]string{"Plain slug"}, nil},
		"plain%20slug":                {nil, nil},
		"same":                        {[]string{"a twin", "b twin"}, nil},
		"users/me":                    {[]string{"exact"}, nil},
		"users/you":                   {[]string{"m user"}, params{"id": "you"}},
		"users/a%2Fb%20c":             {[]string{"m user"}, params{"id": "a/b c"}},
		"users/a.b":                   {[]string{"m user"}, params{"id": "a.b"}},
		"users/":                      {nil, nil},
		"users":                       {nil, nil},
		"users/a/b":                   {nil, nil},
		"users/7/files/x":             {[]string{"q two"}, params{"id": "7", "path": "x"}},
		"users/7/files/x/y%2Fz/w.txt": {[]string{"q two"}, params{"id": "7", "path": "x/y/z/w.txt"}},
		"users/7/files/":              {nil, nil},
		"message:stream":              {[]string{"p verb"}, nil},
		"messageXstream":              {nil, nil},
		"in/a/b/out":                  {[]string{"r middle"}, params{"path": "a/b"}},
		"in/out":                      {nil, nil},
		"off":                         {nil, nil},
		"u%20none":                    {nil, nil},
		"mine":                        {[]string{"v private"}, nil},
		"my%20app.hook":               {[]string{"my app.open"}, nil},
		"my app.hook":                 {[]string{"my app.open"}, nil},
		"hook":                        {nil, nil},
		"my%20app.private/hook":       {[]string{"my app.files"}, params{"path": "private/hook"}},
		"my%20app.any/file.txt":       {[]string{"my app.files"}, params{"path": "any/file.txt"}},
		"my%20app.in.deep":            {[]string{"my app.in.deep"}, nil},
		"my%20app.in.things/4":        {[]string{"my app.files"}, params{"path": "in.things/4"}},
		"my%20app.":                   {nil, nil},
		"other.hook":                  {nil, nil},
		"in.deep":                     {nil, nil},
		"%zz":                         {nil, nil},
		"":                            {nil, nil},
		"x":                           {nil, nil},
	} {
		found := m.Endpoint(path)
		var got []string
		for _, match := range found {
			got = append(got, match.Automation.FullSlug())
			if want.params != nil && !maps.Equal(match.Params, want.params) || want.params == nil && len(match.Params) > 0 {
				t.Errorf("%s: %v, want %v", path, match.Params, want.params)
			}
		}
		if !slices.Equal(got, want.slugs) {
			t.Errorf("%s: %v, want %v", path, got, want.slugs)
		}
	}
}

func TestListeners(t *testing.T) {
	t.Parallel()
	h, id := town(t)
	h.automation(id, "ears", object{"when": object{"events": []string{
		"ping", "my app.ping", "my app.in.ping", "workspaces.apps.installed", "workspaces.deleted", "runtime.automations.executed", "error", "workspaces.updated",
	}}})
	h.automation(id, "off", object{"disabled": true, "when": object{"events": []string{"ping"}}})
	m := h.of(id)
	custom := envelope.Source{ServiceTopic: envelope.CustomTopic}
	about := func(instance string) envelope.Source {
		return envelope.Source{ServiceTopic: "native", Run: envelope.Run{AppInstanceFullSlug: instance}}
	}
	for _, test := range []struct {
		event  string
		source envelope.Source
		want   []string
	}{
		{"ping", custom, []string{"ears"}},
		{"my app.ping", custom, []string{"ears", "my app.hears", "my app.secretly"}},
		{"my app.in.ping", custom, []string{"ears", "my app.hears", "my app.in.hears"}},
		{"in.ping", custom, []string{}},
		{"pin", custom, []string{}},
		{"my app.", custom, []string{}},
		{"error", custom, []string{"ears"}},
		{"error", about(""), nil},
		{"ping", about(""), nil},
		{"workspaces.updated", about(""), nil},
		{"runtime.automations.executed", about(""), nil},
		{"workspaces.apps.installed", about("my app"), []string{"ears", "my app.hears"}},
		{"workspaces.apps.installed", about("other"), []string{"ears"}},
		{"workspaces.apps.installed", about("my app.in"), []string{"ears", "my app.in.hears"}},
		{"workspaces.apps.configured", about("my app"), []string{"my app.hears"}},
		{"apps.published", about(""), []string{"my app.in.hears"}},
		{"workspaces.deleted", about(""), []string{"ears", "my app.hears"}},
		{"workspaces.duplicated", about(""), []string{"my app.hears", "my app.in.hears"}},
	} {
		if got := slugs(m.Listeners(test.event, test.source)); !slices.Equal(got, slices.Concat([]string{}, test.want)) {
			t.Errorf("%s of %q: %v, want %v", test.event, test.source.AppInstanceFullSlug, got, test.want)
		}
	}
	for event, want := range map[string]bool{"anything": true, "runtime.automations.executed": true, "workspaces.deleted": true, "workspaces.updated": false} {
		if m.Waitable(event) != want {
			t.Errorf("waiting for %s: %v", event, !want)
		}
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	h, id := town(t)
	h.automation(id, "often", object{"private": true, "when": object{"schedules": []string{"*/5 * * * *", "0 0 1 * *"}}})
	h.automation(id, "never", object{"disabled": true, "when": object{"schedules": []string{"*/5 * * * *"}}})
	got := map[string][]string{}
	for _, s := range h.of(id).Schedules() {
		got[s.Automation.FullSlug()] = s.Crons
	}
	if len(got) != 2 || !slices.Equal(got["often"], []string{"*/5 * * * *", "0 0 1 * *"}) || !slices.Equal(got["my app.hears"], []string{"0 * * * *"}) {
		t.Errorf("%v", got)
	}
}
