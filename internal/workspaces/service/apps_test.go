package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// product makes a workspace that can be published, and gives its address.
func (c *caller) product(name string) string {
	c.house.t.Helper()
	return "/v2/workspaces/" + c.post("/v2/workspaces", map[string]any{
		"name": name, "description": "About " + name, "photo": "https://example.test/photo.png", "labels": []string{"tools"},
	}).want(http.StatusCreated).text("id")
}

// publish publishes the workspace at an address.
func (c *caller) publish(at, slug string, more ...any) *answer {
	c.house.t.Helper()
	body := map[string]any{"workspaceId": strings.TrimPrefix(at, "/v2/workspaces/")}
	if slug != "" {
		body["slug"] = slug
	}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return c.post("/v2/apps", body)
}

// app makes an app of a new workspace, whose address it gives.
func (c *caller) app(slug string) string {
	c.house.t.Helper()
	at := c.product(slug)
	c.publish(at, slug).want(http.StatusCreated)
	return at
}

func (c *caller) install(at, app string, more ...any) *answer {
	c.house.t.Helper()
	body := map[string]any{"appSlug": app}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return c.post(at+"/apps", body)
}

func automation(slug string, more ...any) map[string]any {
	body := map[string]any{"slug": slug, "name": slug, "do": []any{map[string]any{"emit": map[string]any{"event": slug + " done"}}}}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

func TestAppsArePublished(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, eve := h.user("ann"), h.user("eve")
		at := ann.product("Weather")
		ann.patch(at, map[string]any{"config": map[string]any{
			"schema": map[string]any{"token": map[string]any{"type": "string", "secret": true}}, "block": "Form", "value": map[string]any{"token": "hush"},
		}}).want(http.StatusOK)
		ann.post(at+"/pages", map[string]any{"slug": "_doc", "name": "Help"}).want(http.StatusCreated)
		made := ann.publish(at, "weather", "description", "The first").want(http.StatusCreated)
		if made.text("slug") != "weather" || made.text("name") != "Weather" || made.text("description") != "About Weather" || made.text("createdBy") != "ann" ||
			made.text("documentation.slug") != "_doc" || made.text("documentation.workspaceSlug") != ann.get(at).text("slug") ||
			made.header.Get("Location") != "/v2/apps/weather" || made.text("versions.0.description") != "The first" || made.text("labels.0") != "tools" {
			t.Errorf("made: %s %v", made.body, made.header)
		}
		// Nobody sees the values of the app, anybody what can be set.
		for _, c := range []*caller{ann, eve, h.visitor(), h.superAdmin()} {
			read := c.get("/v2/apps/weather").want(http.StatusOK)
			if read.text("config.schema.token.type") != "string" || read.text("config.block") != "Form" || strings.Contains(read.body.String(), "hush") {
				t.Errorf("read: %s", read.body)
			}
			if list := c.get("/v2/apps").want(http.StatusOK); list.text("0.slug") != "weather" || strings.Contains(list.body.String(), "hush") || list.at("0.versions") != nil {
				t.Errorf("list: %s", list.body)
			}
		}
		h.as(access.Principal{}).get("/v2/apps").wantError(http.StatusUnauthorized, errs.MissingToken)
		event := h.payload(at, "apps.published")
		if event.text("app.slug") != "weather" || event.text("app.version.name") != made.text("version") || strings.Contains(event.body.String(), "hush") {
			t.Errorf("event: %s", event.body)
		}
		if name := made.text("version"); name != fmt.Sprintf("3-1-2026.1-%d", h.clk.Now().UnixMilli()) {
			t.Errorf("version %s", name)
		}
		ann.patch(at, map[string]any{"description": map[string]any{"en": "New", "fr": "Neuf"}, "name": "Weather 2"}).want(http.StatusOK)
		again := ann.publish(at, "", "version", "2.0", "name", "The weather").want(http.StatusOK)
		if again.text("description.fr") != "Neuf" || again.text("name") != "The weather" || again.text("version") != "2.0" || again.text("versions.1.name") != made.text("version") {
			t.Errorf("again: %s", again.body)
		}
		if old := eve.get("/v2/apps/weather?version=" + made.text("version")).want(http.StatusOK); old.text("description") != "About Weather" || old.text("version") != made.text("version") {
			t.Errorf("old: %s", old.body)
		}
		if versions := eve.get("/v2/apps/weather/versions").want(http.StatusOK); len(versions.at("").([]any)) != 2 || versions.text("0.name") != "2.0" {
			t.Errorf("versions: %s", versions.body)
		}
		eve.get("/v2/apps/weather?version=none").wantError(http.StatusNotFound, errs.NotFound)
		eve.get("/v2/apps/none").wantError(http.StatusNotFound, errs.NotFound)
		eve.get("/v2/apps/none/versions").wantError(http.StatusNotFound, errs.NotFound)
		if third := ann.publish(at, "", "description", nil).want(http.StatusOK); third.at("versions.0.description") != nil || len(third.at("versions").([]any)) != 3 {
			t.Errorf("third: %s", third.body)
		}
		ann.publish(at, "weather", "version", "2.0").wantError(http.StatusConflict, errs.AlreadyExists)
	})
}

// What is published is what the workspace was, whatever becomes of it.
func TestVersionsNeverChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.product("Tool")
		ann.post(at+"/automations", automation("one")).want(http.StatusCreated)
		ann.post(at+"/versions", map[string]any{"name": "then"}).want(http.StatusCreated)
		ann.publish(at, "tool", "version", "v1").want(http.StatusCreated)
		ann.delete(at + "/automations/one").want(http.StatusOK)
		ann.post(at+"/automations", automation("two", "private", true)).want(http.StatusCreated)
		ann.post(at+"/automations", automation("three", "arguments", map[string]any{"who": map[string]any{"type": "string"}})).want(http.StatusCreated)
		ann.publish(at, "tool", "version", "v2").want(http.StatusOK)
		mine := bob.workspace("Mine")
		bob.install(mine, "tool", "slug", "follows").want(http.StatusCreated)
		bob.install(mine, "tool", "slug", "pinned", "appVersion", "v1").want(http.StatusCreated)
		list := bob.get(mine + "/apps").want(http.StatusOK)
		if list.at("0.automations.three.arguments.who") == nil || list.at("0.automations.two") != nil || list.at("0.automations.one") != nil || list.text("0.appVersion") != "current" ||
			list.text("0.events.emit.0") != "three done" || list.text("0.photo") != "https://example.test/photo.png" || list.text("0.appName") != "Tool" {
			t.Errorf("follows: %s", list.body)
		}
		if list.at("1.automations.one") == nil || list.text("1.appVersion") != "v1" {
			t.Errorf("pinned: %s", list.body)
		}
		for version, shown := range map[string]string{"": "v2", "current": "v2", "v1": "v1"} {
			if app := bob.get("/v2/apps/tool?version=" + version).want(http.StatusOK); app.text("version") != shown {
				t.Errorf("asked for %q: %s", version, app.body)
			}
		}
		// A native version of the workspace can be published as well.
		ann.publish(at, "tool", "version", "v3", "workspaceVersion", "then").want(http.StatusOK)
		if list := bob.get(mine + "/apps").want(http.StatusOK); list.at("0.automations.one") == nil || list.at("0.automations.three") != nil {
			t.Errorf("after v3: %s", list.body)
		}
		ann.publish(at, "tool", "workspaceVersion", "never").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("workspaceVersion")
	})
}

func TestWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		bare := ann.workspace("Bare")
		ann.publish(bare, "bare").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("photo").wantField("description")
		ann.patch(bare, map[string]any{"description": "Something"}).want(http.StatusOK)
		refused := ann.publish(bare, "bare").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("photo")
		if strings.Contains(refused.body.String(), `"description"`) {
			t.Errorf("refused: %s", refused.body)
		}
		at := ann.product("Good")
		ann.publish(at, "").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("slug")
		for _, slug := range []string{"a.b", "../x", "a//b", "a/b", " a", "é", strings.Repeat("x", 101), "__index__"} {
			ann.publish(at, slug).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("slug")
		}
		for _, version := range []string{"current", "CURRENT", "a b", "x/y", strings.Repeat("x", 16), "é"} {
			ann.publish(at, "good", "version", version).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("version")
		}
		ann.publish(at, "good", "description", []string{"x"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("description")
		ann.publish(at, "good", "photo", "x").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		ann.post("/v2/apps", map[string]any{"slug": "good"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("workspaceId")
		ann.publish("none", "good").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		if all := ann.get("/v2/apps").want(http.StatusOK); all.header.Get("X-Total-Count") != "0" {
			t.Errorf("something was published: %s", all.body)
		}
		ann.publish(at, "good").want(http.StatusCreated)
		ann.publish(at, "other").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("slug")
		for _, slug := range []string{"good", "GOOD"} {
			ann.publish(ann.product("Second"), slug).wantError(http.StatusConflict, errs.AlreadyExists)
		}
		ann.post(at+"/writeLock", map[string]any{"reason": "merge_conflict"}).want(http.StatusOK)
		ann.publish(at, "good").wantError(http.StatusLocked, errs.Locked)
	})
}

func TestWhoMayPublish(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, ed, rea, eve := h.user("ann"), h.user("ed"), h.user("rea"), h.user("eve")
		at := ann.product("Tool")
		ann.share(at, "ed", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.share(at, "rea", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		keys := map[string]string{}
		for name, rules := range map[string][]any{
			"reads":     {rule("", "read", "workspaces")},
			"updates":   {rule("", "read", "workspaces"), rule("", "update", "workspaces"), rule("", "update", "apps")},
			"publishes": {rule("", "read", "workspaces"), rule("", "update", "workspaces"), rule("", "manage", "apps")},
		} {
			for _, r := range rules {
				delete(r.(map[string]any), "role")
			}
			keys[name] = ann.post(at+"/security/apikeys", map[string]any{"name": name, "rules": rules}).want(http.StatusCreated).text("apiKey")
		}
		reads, updates, publishes := h.key(keys["reads"]), h.key(keys["updates"]), h.key(keys["publishes"])
		denied := func(a *answer) { t.Helper(); a.wantError(http.StatusForbidden, errs.PermissionDenied) }
		// The first time needs the right to create apps.
		eve.publish(at, "tool").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		for _, c := range []*caller{ed, rea, reads, updates} {
			denied(c.publish(at, "tool"))
		}
		if made := publishes.publish(at, "tool").want(http.StatusCreated); made.text("createdBy") == "" {
			t.Errorf("made: %s", made.body)
		}
		// A further version the right to update them.
		for _, c := range []*caller{ann, ed, updates, publishes} {
			c.publish(at, "").want(http.StatusOK)
		}
		eve.publish(at, "").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		denied(rea.publish(at, ""))
		denied(reads.publish(at, ""))
		// And everybody reads, also with a key of another workspace.
		other := eve.workspace("Other")
		foreign := h.key(eve.post(other+"/security/apikeys", key("x", "read", "workspaces")).want(http.StatusCreated).text("apiKey"))
		for _, c := range []*caller{eve, reads, foreign, h.visitor()} {
			c.get("/v2/apps/tool").want(http.StatusOK)
			c.get("/v2/apps/tool/dependants").want(http.StatusOK)
		}
		// Deleting is the owner's.
		eve.delete("/v2/apps/tool").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		foreign.delete("/v2/apps/tool").wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		for _, c := range []*caller{ed, rea, updates} {
			denied(c.delete("/v2/apps/tool"))
		}
		ann.delete("/v2/apps/none").wantError(http.StatusNotFound, errs.NotFound)
		ann.delete("/v2/apps/tool").want(http.StatusOK)
		ann.delete("/v2/apps/tool").wantError(http.StatusNotFound, errs.NotFound)
		if event := h.payload(at, "apps.deleted"); event.text("appSlug") != "tool" {
			t.Errorf("event: %s", event.body)
		}
		ann.publish(at, "renamed").want(http.StatusCreated) // the workspace is free to begin anew
		ann.who.Scopes = []string{string(access.WorkspacesRead)}
		ann.publish(at, "").wantError(http.StatusForbidden, errs.InsufficientScope)
		ann.install(at, "renamed").wantError(http.StatusForbidden, errs.InsufficientScope)
	})
}

// A workspace can hide its app: it is in no list and no count, and cannot be installed.
func TestHiddenApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.app("hidden")
		ann.app("open")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		deny, allow := rule("", "read", "apps"), rule("editor", "read", "apps")
		delete(deny, "role")
		deny["inverted"] = true
		ann.put(at+"/security", document(map[string]any{"editor": map[string]any{}}, deny, allow, rule("editor", "read", "workspaces"))).want(http.StatusOK)
		mine := eve.workspace("Mine")
		for _, c := range []*caller{ann, eve, h.visitor()} { // a rule for everyone is one for owners too
			c.get("/v2/apps/hidden").wantError(http.StatusNotFound, errs.NotFound)
			if list := c.get("/v2/apps").want(http.StatusOK); list.header.Get("X-Total-Count") != "1" || list.text("0.slug") != "open" {
				t.Errorf("list: %s", list.body)
			}
		}
		eve.delete("/v2/apps/hidden").wantError(http.StatusNotFound, errs.NotFound)
		eve.get("/v2/apps/hidden/dependants").wantError(http.StatusNotFound, errs.NotFound)
		eve.install(mine, "hidden").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("appSlug")
		bob.get("/v2/apps/hidden").want(http.StatusOK)
		if list := bob.get("/v2/apps").want(http.StatusOK); list.header.Get("X-Total-Count") != "2" {
			t.Errorf("bob's list: %s", list.body)
		}
		if why := ann.post(at+"/security/explain", map[string]any{"action": "read", "subject": "apps"}).want(http.StatusOK); why.text("allowed") != "false" || why.text("decided.source") != "file" {
			t.Errorf("explain: %s", why.body)
		}
		ann.publish(at, "").want(http.StatusOK) // whoever may change it need not see it in the list
		// What hides it goes with the workspace; the app is not shown to everybody then.
		ann.delete(at).want(http.StatusOK)
		eve.get("/v2/apps/hidden").wantError(http.StatusNotFound, errs.NotFound)
		ann.post(at+"/restore", nil).want(http.StatusOK)
		ann.delete("/v2/apps/hidden").want(http.StatusOK)
	})
}

func TestListOfApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		for i := range 5 {
			h.clk.Advance(time.Minute)
			at := ann.product(fmt.Sprintf("Number %d", i))
			ann.patch(at, map[string]any{"labels": []string{fmt.Sprintf("group:%d", i%2)}}).want(http.StatusOK)
			ann.publish(at, fmt.Sprintf("app-%d", 4-i)).want(http.StatusCreated)
		}
		slugs := func(query string) string {
			t.Helper()
			var all []string
			for _, item := range ann.get("/v2/apps" + query).want(http.StatusOK).at("").([]any) {
				all = append(all, item.(map[string]any)["slug"].(string))
			}
			return strings.Join(all, " ")
		}
		workspace := ann.get("/v2/apps/app-2").text("workspaceId")
		for query, want := range map[string]string{
			"":                            "app-4 app-3 app-2 app-1 app-0",
			"?sort=slug":                  "app-0 app-1 app-2 app-3 app-4",
			"?sort=-createdAt&limit=2":    "app-0 app-1",
			"?sort=slug&limit=2&page=1":   "app-2 app-3",
			"?search=NUMBER+3":            "app-1",
			"?search=app-2":               "app-2",
			"?search=about+number+4":      "app-0",
			"?search=%25":                 "",
			"?labels=group:1":             "app-3 app-1",
			"?labels=group:1,group:0":     "app-4 app-3 app-2 app-1 app-0",
			"?labels=roup":                "",
			"?workspaceId=" + workspace:   "app-2",
			"?workspaceId=slug:" + "none": "",
		} {
			if got := slugs(query); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		page := ann.get("/v2/apps?sort=slug&limit=3").want(http.StatusOK)
		next := strings.TrimSuffix(strings.TrimPrefix(page.header.Get("Link"), "<"), `>; rel="next"`)
		if got := slugs(strings.TrimPrefix(next, "/v2/apps")); got != "app-3 app-4" || page.header.Get("X-Total-Count") != "5" {
			t.Errorf("next page: %s of %v", got, page.header)
		}
		ann.get("/v2/apps?cursor=forged").wantError(http.StatusBadRequest, errs.InvalidParameter)
		for _, bad := range []string{"?sort=secret", "?limit=0", "?page=-1", "?limit=9999", "?search=" + strings.Repeat("x", 201)} {
			if got := ann.get("/v2/apps" + bad); got.status != http.StatusBadRequest && got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", bad, got.status, got.body)
			}
		}
	})
}

// schema is the configuration of an app with secrets at several depths.
func schema() map[string]any {
	text := func(secret bool) map[string]any { return map[string]any{"type": "string", "secret": secret} }
	return map[string]any{
		"city": text(false), "token": text(true),
		"login":  map[string]any{"type": "object", "properties": map[string]any{"user": text(false), "password": text(true)}},
		"keys":   map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"value": text(true), "name": text(false)}}},
		"more":   map[string]any{"type": "object", "additionalProperties": text(true)},
		"either": map[string]any{"oneOf": []any{map[string]any{"type": "object", "properties": map[string]any{"pin": text(true)}}, map[string]any{"type": "string"}}},
		"far":    map[string]any{"$ref": "#/definitions/elsewhere"},
		"note":   map[string]any{"type": "string", "redact": true},
		"list":   map[string]any{"type": "array", "items": []any{text(false), text(true)}},
	}
}

func TestInstanceLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		app := ann.product("Weather")
		ann.patch(app, map[string]any{"config": map[string]any{"schema": schema()}}).want(http.StatusOK)
		ann.publish(app, "Weather App").want(http.StatusCreated)
		at := bob.workspace("Mine")
		config := map[string]any{
			"city": "Paris", "token": "hush-1", "login": map[string]any{"user": "bob", "password": "hush-2"},
			"keys": []any{map[string]any{"name": "k", "value": "hush-3"}}, "more": map[string]any{"x": "hush-4"}, "size": json.Number("12345678901234567890"),
			"either": map[string]any{"pin": "hush-6", "name": "n"}, "far": "hush-7", "note": "hush-8", "list": []any{"open", "hush-9"},
		}
		made := bob.install(at, "Weather App", "config", config, "labels", []string{"ext"}).want(http.StatusCreated)
		one := at + "/apps/Weather%20App"
		if made.text("slug") != "Weather App" || made.header.Get("Location") != one || made.text("config.token") != "hush-1" {
			t.Errorf("made: %s %v", made.body, made.header)
		}
		installed := h.payload(at, "workspaces.apps.installed")
		for path, want := range map[string]string{
			"slug": "Weather App", "appSlug": "Weather App", "appInstance.config.city": "Paris", "appInstance.config.token": "***", "appInstance.config.login.user": "bob",
			"appInstance.config.login.password": "***", "appInstance.config.keys.0.value": "***", "appInstance.config.keys.0.name": "k",
			"appInstance.config.more.x": "***", "appInstance.labels.0": "ext", "appInstance.oldConfig": "",
			"appInstance.config.either.pin": "***", "appInstance.config.either.name": "n", "appInstance.config.far": "***", "appInstance.config.note": "***",
			"appInstance.config.list.0": "open", "appInstance.config.list.1": "***",
		} {
			if got := installed.text(path); got != want {
				t.Errorf("installed %s: %q, want %q", path, got, want)
			}
		}
		if !strings.Contains(installed.body.String(), "12345678901234567890") {
			t.Errorf("a number lost its digits: %s", installed.body)
		}
		if again := bob.install(at, "Weather App").want(http.StatusCreated); again.text("slug") != "Weather App-1" {
			t.Errorf("again: %s", again.body)
		}
		bob.install(at, "Weather App", "slug", "Weather App").wantError(http.StatusConflict, errs.AlreadyExists)
		// What was read can be sent back, and what stays the same is no event.
		before := len(h.events(at, "workspaces.apps.configured"))
		bob.put(one, bob.get(one).want(http.StatusOK).body.String()).want(http.StatusOK)
		bob.patch(one+"/config", map[string]any{"city": "Paris"}).want(http.StatusOK)
		bob.patch(one+"/config", map[string]any{}).want(http.StatusOK)
		bob.patch(one+"/config", map[string]any{"none": nil}).want(http.StatusOK)
		bob.text(http.MethodPut, one, "# a comment\n"+bob.yaml(one)).want(http.StatusOK)
		if n := len(h.events(at, "workspaces.apps.configured")); n != before {
			t.Errorf("%d events of what stayed the same", n-before)
		}
		changed := bob.patch(one+"/config", map[string]any{"city": "Lyon", "token": "hush-5", "more": nil}).want(http.StatusOK)
		if changed.text("city") != "Lyon" || changed.text("token") != "hush-5" || changed.at("more") != nil || changed.text("login.user") != "bob" {
			t.Errorf("changed: %s", changed.body)
		}
		if got := bob.get(one + "/config").want(http.StatusOK); got.body.String() != changed.body.String() || got.header.Get("ETag") == "" {
			t.Errorf("config: %s", got.body)
		}
		if text := bob.yaml(one); !strings.HasPrefix(text, "# a comment\n") {
			t.Errorf("text: %s", text)
		}
		configured := h.payload(at, "workspaces.apps.configured")
		if configured.text("appInstance.config.city") != "Lyon" || configured.text("appInstance.oldConfig.city") != "Paris" || configured.text("appInstance.oldConfig.token") != "***" {
			t.Errorf("configured: %s", configured.body)
		}
		bob.with("If-Match", `"1"`).patch(one+"/config", map[string]any{"city": "Nice"}).wantError(http.StatusPreconditionFailed, errs.Conflict)
		renamed := bob.patch(one, map[string]any{"slug": "meteo/eu", "disabled": true}).want(http.StatusOK)
		if configured := h.payload(at, "workspaces.apps.configured"); configured.text("oldSlug") != "Weather App" || configured.text("slug") != "meteo/eu" ||
			configured.text("appInstance.disabled") != "true" || configured.at("appInstance.oldConfig") != nil {
			t.Errorf("renamed: %s %s", renamed.body, configured.body)
		}
		if got := bob.get(at + "/apps/meteo/eu/config").want(http.StatusOK); got.text("city") != "Lyon" {
			t.Errorf("config: %s", got.body)
		}
		bob.get(at + "/apps/meteo/eu").want(http.StatusOK)
		bob.delete(at + "/apps/meteo/eu").want(http.StatusOK)
		if event := h.payload(at, "workspaces.apps.uninstalled"); event.text("slug") != "meteo/eu" || event.text("appSlug") != "Weather App" {
			t.Errorf("uninstalled: %s", event.body)
		}
		for _, eventType := range []string{"workspaces.apps.installed", "workspaces.apps.configured", "workspaces.apps.uninstalled"} {
			for _, event := range h.events(at, eventType) {
				if strings.Contains(string(event.Payload), "hush") {
					t.Errorf("%s tells a secret: %s", eventType, event.Payload)
				}
			}
		}
		bob.delete(at+"/apps/meteo/eu").wantError(http.StatusNotFound, errs.NotFound)
		bob.get(at+"/apps/none/config").wantError(http.StatusNotFound, errs.NotFound)
		bob.patch(at+"/apps/none/config", map[string]any{"x": 1}).wantError(http.StatusNotFound, errs.NotFound)
		bob.patch(at+"/apps/none", map[string]any{"disabled": true}).wantError(http.StatusNotFound, errs.NotFound)
	})
}

// A secret of the version that was used before is none of the next one's to tell.
func TestSecretsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		app := ann.product("Tool")
		set := func(secret bool) {
			t.Helper()
			ann.patch(app, map[string]any{"config": map[string]any{"schema": map[string]any{"token": map[string]any{"type": "string", "secret": secret}}}}).want(http.StatusOK)
		}
		set(true)
		ann.publish(app, "tool", "version", "v1").want(http.StatusCreated)
		set(false)
		ann.publish(app, "tool", "version", "v2").want(http.StatusOK)
		at := ann.workspace("Mine")
		ann.install(at, "tool", "appVersion", "v1", "config", map[string]any{"token": "hush"}).want(http.StatusCreated)
		ann.patch(at+"/apps/tool", map[string]any{"appVersion": "v2"}).want(http.StatusOK)
		if event := h.payload(at, "workspaces.apps.configured"); event.text("appInstance.config.token") != "***" {
			t.Errorf("event: %s", event.body)
		}
		// Of an app that is gone nobody knows what is secret.
		ann.delete("/v2/apps/tool?force=true").want(http.StatusOK)
		ann.patch(at+"/apps/tool/config", map[string]any{"token": "hush again"}).want(http.StatusOK)
		if event := h.payload(at, "workspaces.apps.configured"); event.at("appInstance.config") != nil || strings.Contains(event.body.String(), "hush") {
			t.Errorf("event: %s", event.body)
		}
	})
}

func TestWhatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, rea, eve := h.user("ann"), h.user("rea"), h.user("eve")
		ann.app("tool")
		at := ann.workspace("Mine")
		wrong := func(a *answer, field string) {
			t.Helper()
			a.wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		wrong(ann.install(at, "none"), "appSlug")
		wrong(ann.install(at, "TOOL"), "appSlug")
		wrong(ann.install(at, "tool", "appVersion", "9"), "appVersion")
		wrong(ann.install(at, "tool", "appVersion", "../x"), "appVersion")
		wrong(ann.install(at, "tool", "slug", "../x"), "slug")
		wrong(ann.install(at, "tool", "disabled", "yes"), "disabled")
		wrong(ann.install(at, "tool", "workspaceId", "x"), "workspaceId")
		wrong(ann.install(at, "tool", "automations", map[string]any{}), "automations")
		wrong(ann.post(at+"/apps", map[string]any{"slug": "x"}), "appSlug")
		wrong(ann.put(at+"/apps/x", map[string]any{"appSlug": "none"}), "appSlug")
		ann.post(at+"/apps", "[]").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		ann.post(at+"/apps", "{").wantError(http.StatusBadRequest, errs.InvalidRequest)
		if list := ann.get(at + "/apps").want(http.StatusOK); list.header.Get("X-Total-Count") != "0" {
			t.Errorf("something was installed: %s", list.body)
		}
		ann.put(at+"/apps/tool", map[string]any{"appSlug": "tool", "appVersion": "current"}).want(http.StatusCreated)
		wrong(ann.patch(at+"/apps/tool", map[string]any{"appSlug": "none"}), "appSlug")
		wrong(ann.patch(at+"/apps/tool", map[string]any{"appVersion": "9"}), "appVersion")
		wrong(ann.patch(at+"/apps/tool", map[string]any{"appSlug": nil}), "appSlug")
		for _, body := range []string{"[]", "1", `"x"`, "null"} {
			ann.patch(at+"/apps/tool/config", body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		}
		ann.patch(at+"/apps/tool/config", `{"a":1,"a":2}`).wantError(http.StatusBadRequest, errs.InvalidRequest)
		// Who may not change the workspace installs nothing.
		ann.share(at, "rea", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		rea.get(at + "/apps").want(http.StatusOK)
		rea.get(at + "/apps/tool").want(http.StatusOK)
		for _, refused := range []*answer{
			rea.install(at, "tool"), rea.patch(at+"/apps/tool", map[string]any{"disabled": true}), rea.put(at+"/apps/tool", map[string]any{"appSlug": "tool"}),
			rea.patch(at+"/apps/tool/config", map[string]any{"x": 1}), rea.delete(at + "/apps/tool"),
		} {
			refused.wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		for _, refused := range []*answer{
			eve.get(at + "/apps"), eve.get(at + "/apps/tool"), eve.get(at + "/apps/tool/config"), eve.install(at, "tool"), eve.delete(at + "/apps/tool"),
		} {
			refused.wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}
		// An instance whose app is gone can still be switched off.
		ann.delete("/v2/apps/tool?force=true").want(http.StatusOK)
		ann.patch(at+"/apps/tool", map[string]any{"disabled": true}).want(http.StatusOK)
		if list := ann.get(at + "/apps").want(http.StatusOK); list.text("0.unknown") != "true" || list.text("0.disabled") != "true" {
			t.Errorf("list: %s", list.body)
		}
	})
}

// An app is never inside itself, whichever way it would get there.
func TestRecursion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		a, b, c := ann.app("a"), ann.app("b"), ann.app("c")
		wrong := func(refused *answer, field, way string) {
			t.Helper()
			refused.wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
			if !strings.Contains(refused.body.String(), way) {
				t.Errorf("%s does not say %s", refused.body, way)
			}
		}
		wrong(ann.install(a, "a"), "appSlug", "a")
		ann.install(b, "a").want(http.StatusCreated)
		ann.publish(b, "b", "version", "with-a").want(http.StatusOK)
		ann.install(c, "b").want(http.StatusCreated)
		ann.publish(c, "c").want(http.StatusOK)
		wrong(ann.install(a, "b"), "appSlug", "b \\u003e a")
		wrong(ann.install(a, "c"), "appSlug", "c \\u003e b \\u003e a")
		first := ann.get("/v2/apps/c").text("versions.1.name")
		ann.install(a, "c", "slug", "early", "appVersion", first).want(http.StatusCreated) // in that version there was nothing inside
		wrong(ann.patch(a+"/apps/early", map[string]any{"appVersion": "current"}), "appSlug", "c \\u003e b \\u003e a")
		ann.publish(a, "a").want(http.StatusOK)
		wrong(ann.install(c, "a"), "appSlug", "c") // a has an instance of c now, if an early one
		ann.delete(a + "/apps/early").want(http.StatusOK)
		// A workspace that has not published may use what it will be inside of; it cannot be published then.
		d := ann.product("d")
		ann.install(d, "b", "slug", "x").want(http.StatusCreated)
		ann.publish(d, "d").want(http.StatusCreated)
		e := ann.product("e")
		ann.install(e, "d").want(http.StatusCreated)
		ann.text(http.MethodPut, e+"/apps/late", "appSlug: e\nslug: late\n").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("appSlug")
		ann.publish(e, "e").want(http.StatusCreated)
		wrong(ann.install(d, "e"), "appSlug", "e \\u003e d")
	})
}

func TestDependants(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve, root := h.user("ann"), h.user("bob"), h.user("eve"), h.superAdmin()
		app := ann.app("tool")
		mine, yours := bob.workspace("Mine"), eve.workspace("Yours")
		bob.install(mine, "tool", "slug", "one").want(http.StatusCreated)
		bob.install(mine, "tool", "slug", "two", "appVersion", ann.get("/v2/apps/tool").text("version")).want(http.StatusCreated)
		eve.install(yours, "tool").want(http.StatusCreated)
		got := bob.get("/v2/apps/tool/dependants").want(http.StatusOK)
		if "/v2/workspaces/"+got.text("workspaces.0.id") != mine || got.text("workspaces.0.name") != "Mine" || got.text("workspaces.0.instances.0.slug") != "one" ||
			got.text("workspaces.0.instances.0.appVersion") != "current" || got.at("workspaces.1") != nil || got.text("others") != "1" || got.header.Get("X-Total-Count") != "1" {
			t.Errorf("bob: %s", got.body)
		}
		if strings.Contains(got.body.String(), "Yours") {
			t.Errorf("something of another's workspace shows: %s", got.body)
		}
		if got := ann.get("/v2/apps/tool/dependants").want(http.StatusOK); got.text("others") != "2" || got.at("workspaces.0") != nil {
			t.Errorf("ann: %s", got.body)
		}
		page := root.get("/v2/apps/tool/dependants?limit=1").want(http.StatusOK)
		if page.text("others") != "0" || page.text("workspaces.0.name") != "Mine" || !strings.Contains(page.header.Get("Link"), "cursor=") {
			t.Errorf("root: %s %v", page.body, page.header)
		}
		refused := ann.delete("/v2/apps/tool").wantError(http.StatusConflict, errs.Conflict)
		if refused.text("details.instances") != "3" {
			t.Errorf("refused: %s", refused.body)
		}
		// Those in the bin count: they can be restored.
		bob.delete(mine).want(http.StatusOK)
		if got := eve.get("/v2/apps/tool/dependants").want(http.StatusOK); got.text("others") != "1" {
			t.Errorf("with one in the bin: %s", got.body)
		}
		eve.delete(yours + "/apps/tool").want(http.StatusOK)
		ann.delete("/v2/apps/tool").wantError(http.StatusConflict, errs.Conflict)
		ann.delete("/v2/apps/tool?force=true").want(http.StatusOK)
		if event := h.payload(app, "apps.deleted"); event.text("appSlug") != "tool" {
			t.Errorf("event: %s", event.body)
		}
		if n := h.count(`SELECT COUNT(*) FROM ws_texts WHERE owner LIKE 'app/%'`); n != 0 {
			t.Errorf("%d texts are left", n)
		}
	})
}

// count reads one number.
func (h *house) count(query string, args ...any) (n int) {
	h.t.Helper()
	if err := h.db.QueryRow(h.t.Context(), query, args...).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// An instance can be brought by an archive, an undo or an older version, where nobody asks whether its app may be used. It
// shows nothing of an app that the caller may not read.
func TestInstancesOfHiddenApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		app := ann.product("Hush")
		ann.patch(app, map[string]any{
			"config": map[string]any{"schema": map[string]any{"a": map[string]any{"type": "string"}}, "value": map[string]any{"a": "internal"}},
			"blocks": map[string]any{"Inner": map[string]any{"url": "https://example.test/{{config.a}}.js"}},
		}).want(http.StatusOK)
		ann.post(app+"/automations", automation("innermost")).want(http.StatusCreated)
		ann.publish(app, "hush").want(http.StatusCreated)
		ann.share(app, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		raw := pack("index.yml", "name: Own\n", "imports/h.yml", "appSlug: hush\nconfig: {a: before}\n", "pages/p.yml", "name: p\nblocks: [{slug: h.Other}]\n",
			"automations/x.yml", "name: x\ndo: [{h.nothing: {}}]\n")
		all := func(c *caller) string {
			t.Helper()
			at := c.workspace("Own")
			c.bring(at+"/import", raw).want(http.StatusOK)
			c.patch(at+"/apps/h/config", map[string]any{"a": "given"}).want(http.StatusOK)
			page := c.get("/v2/pages/" + c.get(at).text("slug") + "/p").want(http.StatusOK)
			list, lint := c.get(at+"/apps").want(http.StatusOK), c.post(at+"/lint", nil).want(http.StatusOK)
			return page.body.String() + list.body.String() + lint.body.String() + h.payload(at, "workspaces.apps.configured").body.String()
		}
		words := []string{"https://example.test/given.js", "Inner", "innermost", "unknown_automation", "unknown_block"}
		open := all(eve)
		deny := rule(nil, "read", "apps")
		deny["inverted"] = true
		ann.put(app+"/security", document(map[string]any{"editor": map[string]any{}}, deny, rule("editor", "read", "apps"), rule("editor", "read", "workspaces"))).want(http.StatusOK)
		hidden, theirs := all(eve), all(bob)
		for _, word := range words {
			if !strings.Contains(open, word) || !strings.Contains(theirs, word) {
				t.Errorf("%s is not shown to those who may read the app:\n%s\n%s", word, open, theirs)
			}
			if strings.Contains(hidden, word) {
				t.Errorf("%s is shown:\n%s", word, hidden)
			}
		}
		if !strings.Contains(hidden, "unknown_app") || !strings.Contains(hidden, `"unknown":true`) {
			t.Errorf("the app is not known: %s", hidden)
		}
	})
}

// The blocks of an app are for whoever may see the page: visitors and keys too, also when the workspace of the app is gone.
func TestBlocksOfAppsAreForVisitors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		app := ann.product("Draw")
		ann.patch(app, map[string]any{"blocks": map[string]any{"Bar": map[string]any{"url": "https://example.test/bar.js"}}}).want(http.StatusOK)
		ann.publish(app, "draw").want(http.StatusCreated)
		at, shown := bob.site(map[string]any{"name": "Site"}, map[string]any{"name": "Home", "slug": "home", "blocks": []any{}})
		bob.install(at, "draw", "slug", "d").want(http.StatusCreated)
		reader := h.key(bob.post(at+"/security/apikeys", key("reader", "read", []string{"workspaces", "pages"})).want(http.StatusCreated).text("apiKey"))
		everybody := []*caller{bob, h.visitor(), reader}
		bob.put(at+"/security", document(nil, rule(nil, "read", "pages"))).want(http.StatusOK)
		check := func() {
			t.Helper()
			for _, c := range everybody {
				if got := c.get(shown).want(http.StatusOK); got.text("appInstances.1.blocks.Bar") != "https://example.test/bar.js" {
					t.Errorf("%v sees %s", c.who.Kind, got.body)
				}
			}
			if list := reader.get(at + "/apps").want(http.StatusOK); list.at("0.unknown") != nil {
				t.Errorf("a key sees %s", list.body)
			}
		}
		check()
		ann.delete(app).want(http.StatusOK)
		check()
	})
}

// The app goes with its workspace, unless somebody uses it.
func TestAppsOfWorkspacesThatAreGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve, root := h.user("ann"), h.user("bob"), h.user("eve"), h.superAdmin()
		erase := func(at string) {
			t.Helper()
			ann.delete(at).want(http.StatusOK)
			ann.delete(at + "/bin").want(http.StatusOK)
		}
		unused, used := ann.app("unused"), ann.app("used")
		mine := bob.workspace("Mine")
		bob.install(mine, "used").want(http.StatusCreated)
		ann.delete(used).want(http.StatusOK)
		bob.get("/v2/apps/used").want(http.StatusOK)
		ann.delete("/v2/apps/used?force=true").wantError(http.StatusNotFound, errs.NotFound)
		ann.post(used+"/restore", nil).want(http.StatusOK)
		ann.publish(used, "used").want(http.StatusOK)
		erase(unused)
		erase(used)
		root.get("/v2/apps/unused").wantError(http.StatusNotFound, errs.NotFound)
		if n := h.count(`SELECT COUNT(*) FROM ws_texts WHERE owner = 'app/unused'`); n != 0 {
			t.Errorf("%d texts are left", n)
		}
		if left := bob.get("/v2/apps/used").want(http.StatusOK); left.at("workspaceId") != nil {
			t.Errorf("left: %s", left.body)
		}
		if list := bob.get(mine + "/apps").want(http.StatusOK); list.at("0.unknown") != nil {
			t.Errorf("instances: %s", list.body)
		}
		eve.get("/v2/apps/used").wantError(http.StatusNotFound, errs.NotFound) // it is left for those who use it
		if list := eve.get("/v2/apps").want(http.StatusOK); list.header.Get("X-Total-Count") != "0" {
			t.Errorf("eve's list: %s", list.body)
		}
		if list := bob.get("/v2/apps").want(http.StatusOK); list.header.Get("X-Total-Count") != "1" {
			t.Errorf("bob's list: %s", list.body)
		}
		ann.publish(ann.product("Another"), "used").wantError(http.StatusConflict, errs.AlreadyExists)
		bob.delete("/v2/apps/used?force=true").wantError(http.StatusForbidden, errs.PermissionDenied)
		root.delete("/v2/apps/used").wantError(http.StatusConflict, errs.Conflict)
		root.delete("/v2/apps/used?force=true").want(http.StatusOK)
		if event := h.payload("/v2/workspaces/platform", "apps.deleted"); event.text("appSlug") != "used" {
			t.Errorf("event: %s", event.body)
		}
		ann.publish(ann.product("Another"), "unused").want(http.StatusCreated)
	})
}

// The linter knows what apps offer.
func TestAppsAndTheLinter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		app := ann.product("Tool")
		ann.post(app+"/automations", automation("open")).want(http.StatusCreated)
		ann.post(app+"/automations", automation("closed", "private", true)).want(http.StatusCreated)
		ann.put(app+"/blocks/Chart", map[string]any{"url": "https://example.test/chart.js"}).want(http.StatusOK)
		ann.publish(app, "tool").want(http.StatusCreated)
		at := ann.workspace("Mine")
		ann.install(at, "tool", "slug", "T").want(http.StatusCreated)
		calls := func(names ...string) map[string]any {
			var do []any
			for _, name := range names {
				do = append(do, map[string]any{name: map[string]any{}})
			}
			return map[string]any{"slug": "x", "name": "x", "do": do}
		}
		ann.post(at+"/automations", calls("T.open", "T.closed", "T.nothing")).want(http.StatusCreated)
		ann.post(at+"/pages", map[string]any{"slug": "p", "name": "p", "blocks": []any{map[string]any{"slug": "T.Chart"}, map[string]any{"slug": "T.Graph"}}}).want(http.StatusCreated)
		found := map[string]string{}
		for _, p := range ann.post(at+"/lint", nil).want(http.StatusOK).at("problems").([]any) {
			one := p.(map[string]any)
			found[one["path"].(string)] = one["code"].(string)
		}
		if len(found) != 3 || !reported(found, "private_automation") || !reported(found, "unknown_automation") || !reported(found, "unknown_block") {
			t.Errorf("problems: %v", found)
		}
		if list := ann.get(at + "/apps").want(http.StatusOK); list.text("0.blocks.Chart.url") != "https://example.test/chart.js" {
			t.Errorf("list: %s", list.body)
		}
	})
}

func reported(found map[string]string, code string) bool {
	for _, one := range found {
		if one == code {
			return true
		}
	}
	return false
}

// When there is no more room the oldest version goes that nobody uses, with the texts that no other has.
func TestRoomForVersions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		app := ann.product("Tool")
		ann.post(app+"/automations", automation("first")).want(http.StatusCreated)
		ann.publish(app, "tool", "version", "pinned").want(http.StatusCreated)
		ann.delete(app + "/automations/first").want(http.StatusOK)
		ann.post(app+"/automations", automation("second")).want(http.StatusCreated)
		ann.publish(app, "tool", "version", "unused").want(http.StatusOK)
		ann.delete(app + "/automations/second").want(http.StatusOK)
		ann.publish(app, "tool", "version", "third").want(http.StatusOK)
		at := ann.workspace("Mine")
		ann.install(at, "tool", "appVersion", "pinned").want(http.StatusCreated)
		err := h.db.Tx(t.Context(), func(tx *sqldb.Tx) error { // many versions with the same documents
			_, err := tx.Exec(t.Context(), `INSERT INTO ws_app_versions (app_slug, name, number, description, tree, outline, created_at, created_by)
				WITH RECURSIVE more (n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM more WHERE n < 1000)
				SELECT app_slug, 'n' || CAST(n AS TEXT), n, description, tree, outline, created_at, created_by
				FROM ws_app_versions, more WHERE name = 'third'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		texts := h.count(`SELECT COUNT(*) FROM ws_texts WHERE owner = 'app/tool'`)
		ann.publish(app, "tool", "version", "last").want(http.StatusOK)
		if n := len(ann.get("/v2/apps/tool/versions").at("").([]any)); n != 1000 {
			t.Errorf("%d versions", n)
		}
		ann.get("/v2/apps/tool?version=unused").wantError(http.StatusNotFound, errs.NotFound)
		ann.get("/v2/apps/tool?version=pinned").want(http.StatusOK)
		if n := h.count(`SELECT COUNT(*) FROM ws_texts WHERE owner = 'app/tool'`); n != texts-3 { // the automation, the tree and the outline
			t.Errorf("%d texts, there were %d", n, texts)
		}
		if list := ann.get(at + "/apps").want(http.StatusOK); list.at("0.automations.first") == nil {
			t.Errorf("instances: %s", list.body)
		}
	})
}

// Slugs have spaces, those of instances slashes too.
func TestSlugsWithSlashesAndSpaces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		one := ann.publish(ann.product("Tool"), "My app").want(http.StatusCreated).header.Get("Location")
		if one != "/v2/apps/My%20app" {
			t.Errorf("location %s", one)
		}
		for _, path := range []string{"", "/versions", "/dependants"} {
			ann.get(one + path).want(http.StatusOK)
		}
		at := ann.workspace("Mine")
		made := ann.install(at, "My app", "slug", "tools/my app").want(http.StatusCreated)
		there := made.header.Get("Location")
		if there != at+"/apps/tools/my%20app" {
			t.Errorf("location %s", there)
		}
		ann.patch(there+"/config", map[string]any{"x": 1}).want(http.StatusOK)
		ann.patch(there+"/config", "[]").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		if config := ann.get(there + "/config").want(http.StatusOK); config.text("x") != "1" || config.at("appSlug") != nil {
			t.Errorf("config: %s", config.body)
		}
		if read := ann.get(there).want(http.StatusOK); read.text("config.x") != "1" {
			t.Errorf("read: %s", read.body)
		}
		for _, refused := range []*answer{
			ann.install(at, "My app", "slug", "a/config"), ann.put(at+"/apps/a/config", map[string]any{"appSlug": "My app"}),
			ann.patch(there, map[string]any{"slug": "a/b/config"}),
		} {
			refused.wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("slug")
		}
		ann.install(at, "My app", "slug", "config").want(http.StatusCreated)
		ann.get(at + "/apps/config").want(http.StatusOK)
		ann.get(at + "/apps/config/config").want(http.StatusOK)
	})
}

// An archive knows the app of its workspace. Importing it publishes what has changed, and nothing else.
func TestAppsOfArchives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.app("tool")
		raw := ann.export(at)
		if info := unpack(t, raw).Import; info == nil || info.App == nil || info.App.Slug != "tool" || info.App.Name != "tool" {
			t.Fatalf("info: %+v", info)
		}
		ann.bring(at+"/import", raw).want(http.StatusOK)
		if n := len(ann.get("/v2/apps/tool/versions").at("").([]any)); n != 1 {
			t.Errorf("%d versions of what has not changed", n)
		}
		ann.post(at+"/automations", automation("more")).want(http.StatusCreated)
		ann.publish(at, "").want(http.StatusOK)
		ann.bring(at+"/import?prune=true", raw).want(http.StatusOK)
		if n := len(ann.get("/v2/apps/tool/versions").at("").([]any)); n != 3 {
			t.Errorf("%d versions after an import that changed something", n)
		}
		// Somebody else's app is not taken over.
		done := bob.bring(newImport, raw).want(http.StatusOK)
		if done.finding(string(errs.AlreadyExists)) == "" {
			t.Errorf("findings: %s", done.body)
		}
		if app := bob.get("/v2/apps/tool").want(http.StatusOK); "/v2/workspaces/"+app.text("workspaceId") != at {
			t.Errorf("app: %s", app.body)
		}
	})
}
