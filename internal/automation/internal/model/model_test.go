package model_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb/sqldbtest"
)

// What changes is there the next time; what stays is not compiled again.
func TestOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		id := h.workspace("mine")
		h.automation(id, "a", nil)
		first := h.of(id)
		if again := h.of(id); again != first || h.source.loads.Load() != 1 || h.source.stamps.Load() != 2 {
			t.Errorf("%d loads, %d stamps", h.source.loads.Load(), h.source.stamps.Load())
		}
		h.automation(id, "b", nil)
		second := h.of(id)
		if _, ok := second.Find("b"); !ok || second == first {
			t.Error("the new automation is not there")
		}
		if _, ok := first.Find("b"); ok {
			t.Error("a model was changed")
		}
		h.do("PATCH", "/v2/workspaces/"+id+"/security/secrets", object{"token": object{"value": "t0k3n"}})
		if got := h.of(id).Root.Secrets.Get("token"); got != "t0k3n" {
			t.Errorf("secret: %v", got)
		}
		h.do("PUT", "/v2/workspaces/"+id+"/suspension", object{"reason": "unpaid"})
		if m := h.of(id); !m.Suspended || m.SuspendedReason != "unpaid" {
			t.Error("it is not suspended")
		}
		h.do("DELETE", "/v2/workspaces/"+id, nil)
		if !h.of(id).Deleted {
			t.Error("it is not deleted")
		}
		if _, err := h.models.Of(t.Context(), "nothere"); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("no workspace: %v", err)
		}
	})
}

// An app that follows its newest version is that version at once, at any depth, and one that comes into being is there.
func TestAppsAreFresh(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		inner, outer, id := h.workspace("inner"), h.workspace("outer"), h.workspace("mine")
		h.automation(inner, "one", nil)
		h.publish(inner, "Inner")
		h.install(outer, "Inner", "in", nil)
		h.publish(outer, "Outer")
		h.install(id, "Outer", "out", nil)
		if _, ok := h.of(id).Find("out.in.one"); !ok {
			t.Fatal("there is no app in the app")
		}
		h.automation(inner, "two", nil)
		if _, ok := h.of(id).Find("out.in.two"); ok || h.source.loads.Load() != 1 {
			t.Error("it is not published yet")
		}
		h.publish(inner, "Inner")
		if _, ok := h.of(id).Find("out.in.two"); !ok {
			t.Error("the new version is not there")
		}
		h.do("DELETE", "/v2/apps/Inner?force=true", nil)
		if _, ok := h.of(id).Find("out.in.two"); ok {
			t.Error("the app is still there")
		}
		h.publish(inner, "Inner")
		if _, ok := h.of(id).Find("out.in.two"); !ok {
			t.Error("the app is not there again")
		}
	})
}

// Whoever asks at the same time shares the work, and nobody gets what was there before they asked.
func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		id := h.workspace("mine")
		h.automation(id, "a", nil)
		begun, go1 := make(chan struct{}), make(chan struct{})
		var once sync.Once
		h.source.loading = func() { once.Do(func() { close(begun) }); <-go1 }
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				if m, err := h.models.Of(t.Context(), id); err != nil || m.Root.Automations["a"] == nil {
					t.Errorf("%v", err)
				}
			})
		}
		<-begun
		for h.source.stamps.Load() < 16 { // all have asked
			sqldbYield(h)
		}
		close(go1)
		group.Wait()
		if n := h.source.loads.Load(); n > 16 || n < 1 {
			t.Errorf("%d loads", n)
		}
		for round := range 20 {
			slug := fmt.Sprintf("n%d", round)
			h.automation(id, slug, nil)
			for range 4 {
				group.Go(func() {
					if m, err := h.models.Of(t.Context(), id); err != nil || m.Root.Automations[slug] == nil {
						t.Errorf("%s is not there: %v", slug, err)
					}
				})
			}
			group.Wait()
		}
	})
}

// sqldbYield lets others work: a question to the database takes a moment.
func sqldbYield(h *house) { _, _ = h.source.Source.Stamp(h.t.Context(), "nothere", nil) }

func TestHomes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		app, id := h.workspace("tool"), h.workspace("mine")
		h.do("PATCH", "/v2/workspaces/"+app, object{"config": object{
			"schema": object{"password": object{"type": "string", "secret": true}}, "value": object{"url": "https://default", "own": "{{config.url}}/x"},
		}})
		h.automation(app, "go", object{"when": object{"endpoint": true}})
		h.automation(app, "hidden", object{"private": true, "when": object{"endpoint": "secret", "schedules": []string{"0 0 * * *"}}})
		h.publish(app, "Tool")
		h.do("PATCH", "/v2/workspaces/"+id+"/security/secrets", object{"token": object{"value": "t0k3n"}})
		h.do("PATCH", "/v2/workspaces/"+id, object{
			"config": object{"value": object{"base": "https://mine"}}, "events": object{"types": object{"usage": object{"schema": object{}}}}, "registerWorkspace": true,
		})
		h.install(id, "Tool", "my tool", object{"url": "{{config.base}}", "password": "{{secret.token}}-x"})
		h.install(id, "Custom Code", "code", object{"functions": object{}})
		h.automation(id, "hello", object{"when": object{"endpoint": "a b/:id"}, "authorizations": object{"action": "special"}})
		root := h.of(id).Root
		if got := shown(root.Config); got != `{"base":"https://mine"}` {
			t.Errorf("config: %s", got)
		}
		tool := root.Instances["my tool"]
		if got := shown(tool.Config); got != `{"own":"https://mine/x","url":"https://mine","password":"t0k3n-x"}` {
			t.Errorf("config of the app: %s", got)
		}
		if tool.FullSlug != "my tool" || tool.AppSlug != "Tool" || tool.Depth != 1 || tool.Parent != root || tool.WorkspaceID != id || tool.AppVersion == "" {
			t.Errorf("app: %+v", tool)
		}
		if want := []string{"t0k3n", "t0k3n-x"}; !slices.Equal(root.Hidden, want) || !slices.Equal(tool.Hidden, want) {
			t.Errorf("hidden: %v, %v", root.Hidden, tool.Hidden)
		}
		if root.Automations["hello"].Action != "special" || !tool.Automations["hidden"].Private || !root.EventTypes["usage"] {
			t.Error("what is said of an automation is lost")
		}
		if got := shown(root.Definition.Get("imports")); !strings.Contains(got, `"appSlug":"Tool"`) || shown(value.Get(root.Definition.Get("automations"), "hello")) == "" {
			t.Errorf("definition: %s", got)
		}
		want := fmt.Sprintf(`{"stage":"test","workspaceId":%q,"workspaceName":"Of mine","apiUrl":"https://api.test/v2","studioUrl":"https://studio.test",`+
			`"pagesUrl":"https://mine.pages.test","pagesHost":".pages.test","endpoints":{"a b/:id":"https://api.test/v2/workspaces/%s/webhooks/a%%20b/:id"},`+
			`"workspacesRegistry":{"mine":{"id":%q,"name":"Of mine"}}}`, id, id, id)
		if got := shown(sortedLike(root.Global, "stage")); got != want {
			t.Errorf("global:\n%s\nwant\n%s", got, want)
		}
		if got := shown(tool.Global.Get("endpoints")); got != `{"go":"https://api.test/v2/workspaces/`+id+`/webhooks/my%20tool.go"}` {
			t.Errorf("endpoints of the app: %s", got)
		}
		run := root.Instances["code"].Automations["run"]
		if run == nil || run.Native == nil {
			t.Fatal("the built-in app has no automation")
		}
		if out, err := run.Native(nil, nil); out != "code" || err != nil {
			t.Errorf("%v %v", out, err)
		}
		if got := h.of(id).Schedules(); len(got) != 0 {
			t.Errorf("what is private in an app runs by the clock: %v", got)
		}
	})
}

// sortedLike is an object with a key at its beginning, which the environment may have put elsewhere.
func sortedLike(o *value.Object, first string) *value.Object {
	made := value.NewObject(o.Len())
	made.Set(first, o.Get(first))
	for _, key := range []string{"workspaceId", "workspaceName", "apiUrl", "studioUrl", "pagesUrl", "pagesHost", "endpoints", "workspacesRegistry"} {
		made.Set(key, o.Get(key))
	}
	return made
}

// A mistake in one automation, and an app that is not there, leave the others alone.
func TestMistakesStayAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, sqldbtest.SQLite(t, migrations()...))
	id, app := h.workspace("mine"), h.workspace("tool")
	h.publish(app, "Tool")
	h.install(id, "Tool", "tool", nil)
	h.automation(id, "fine", nil)
	h.do("DELETE", "/v2/apps/Tool?force=true", nil)
	m := h.of(id)
	if len(m.Root.Instances) != 0 || m.Root.Automations["fine"] == nil || m.Root.Automations["fine"].Broken != nil {
		t.Errorf("%+v", m.Root)
	}
}

// The same text is compiled once, in however many workspaces it is, and belongs to each of them.
func TestSharedAutomations(t *testing.T) {
	t.Parallel()
	h := newHouse(t, sqldbtest.SQLite(t, migrations()...))
	one, two := h.workspace("one"), h.workspace("two")
	for _, id := range []string{one, two} {
		h.automation(id, "same", object{"arguments": object{"a": object{"type": "string"}}})
	}
	a, b := h.of(one).Root.Automations["same"], h.of(two).Root.Automations["same"]
	if a == b || a.Home.WorkspaceID != one || b.Home.WorkspaceID != two || a.Arguments != b.Arguments {
		t.Errorf("%+v %+v", a, b)
	}
	var none *machine.Automation
	if found, ok := h.of(one).Find("same.x"); ok || found != none {
		t.Error("there is no such app")
	}
}
