package service_test

import (
	"net/http"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// site is a workspace with a page, and the address at which renderers find it.
func (c *caller) site(workspace, page map[string]any) (at, shown string) {
	c.house.t.Helper()
	made := c.post("/v2/workspaces", workspace).want(http.StatusCreated)
	at = "/v2/workspaces/" + made.text("id")
	added := c.post(at+"/pages", page).want(http.StatusCreated)
	return at, "/v2/pages/" + made.text("slug") + "/" + added.text("slug")
}

func TestAPageForRenderers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, shown := ann.site(
			map[string]any{"name": "Site", "slug": "site", "photo": "https://example.test/site.png", "blocks": map[string]any{
				"Drawn":    map[string]any{"name": "Drawn", "url": "https://example.test/drawn.js"},
				"Composed": map[string]any{"name": "Composed", "blocks": []any{map[string]any{"slug": "RichText", "content": "hello"}}},
			}},
			map[string]any{"name": "Home", "slug": "a/deep page", "styles": "h1 { color: red }", "blocks": []any{map[string]any{"slug": "Composed", "size": 3}}, "onInit": "opened"},
		)
		got := ann.get(strings.ReplaceAll(shown, " ", "%20")).want(http.StatusOK)
		for path, want := range map[string]string{
			"name": "Home", "slug": "a/deep page", "styles": "h1 { color: red }", "onInit": "opened", "blocks.0.slug": "Composed", "blocks.0.size": "3",
			"workspaceId": strings.TrimPrefix(at, "/v2/workspaces/"), "workspaceSlug": "site", "public": "false", "favicon": "https://example.test/site.png",
			"appInstances.0.slug": "", "appInstances.0.blocks.Drawn": "https://example.test/drawn.js", "appInstances.0.blocks.Composed.blocks.0.content": "hello",
		} {
			if got.text(path) != want {
				t.Errorf("%s is %q, want %q\n%s", path, got.text(path), want, got.body)
			}
		}
		if id := ann.get(at + "/pages/a/deep%20page").want(http.StatusOK).text("id"); id == "" || got.text("id") != id {
			t.Errorf("id: %s", got.body)
		}
		for _, hidden := range []string{"createdBy", "updatedBy", "permissions", "apiKey", "clientId"} {
			if got.at(hidden) != nil {
				t.Errorf("%s is shown to renderers: %s", hidden, got.body)
			}
		}
		if kind := got.header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("Content-Type %q", kind)
		}
	})
}

func TestAPageForRenderersIsForThoseWhoMayReadIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, nobody := h.user("ann"), h.user("bob"), h.as(access.Principal{})
		at, shown := ann.site(map[string]any{"name": "Site", "slug": "site"}, map[string]any{"name": "Home", "slug": "home"})
		sharing := "/v2/pages/" + ann.get(shown).want(http.StatusOK).text("id") + "/permissions"

		// A page that exists, one that does not, and a workspace that does not are refused in the same words.
		first := bob.get(shown).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		for _, path := range []string{"/v2/pages/site/none", "/v2/pages/none/home"} {
			other := bob.get(path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			if strings.ReplaceAll(other.body.String(), "slug:none", "slug:site") != first.body.String() {
				t.Errorf("%s\n%s", first.body, other.body)
			}
			nobody.get(path).wantError(http.StatusUnauthorized, errs.MissingToken)
		}
		nobody.get(shown).wantError(http.StatusUnauthorized, errs.MissingToken)
		ann.get("/v2/pages/site/none").wantError(http.StatusNotFound, errs.NotFound)
		if contains(first.body.String(), strings.TrimPrefix(at, "/v2/workspaces/")) {
			t.Errorf("the id of the workspace is told: %s", first.body)
		}

		ann.post(sharing, to("bob", map[string]any{"policies": map[string]any{"read": true}})).want(http.StatusOK)
		if got := bob.get(shown).want(http.StatusOK); got.at("public") != false {
			t.Errorf("public: %s", got.body)
		}
		ann.post(sharing, public()).want(http.StatusOK)
		if got := nobody.get(shown).want(http.StatusOK); got.at("public") != true {
			t.Errorf("public: %s", got.body)
		}
		ann.delete(sharing + "/*").want(http.StatusOK)
		nobody.get(shown).wantError(http.StatusUnauthorized, errs.MissingToken)

		// A rule opens pages as sharing does.
		rules := []any{map[string]any{"action": "read", "subject": "pages", "conditions": map[string]any{"labels": "open"}}}
		ann.put(at+"/security", map[string]any{"authorizations": map[string]any{"rules": rules}}).want(http.StatusOK)
		nobody.get(shown).wantError(http.StatusUnauthorized, errs.MissingToken)
		ann.patch(at+"/pages/home", map[string]any{"labels": []string{"open"}}).want(http.StatusOK)
		if got := nobody.get(shown).want(http.StatusOK); got.at("public") != true {
			t.Errorf("public by a rule: %s", got.body)
		}

		low := h.as(bob.who)
		low.who.Scopes = []string{string(access.FilesRead)}
		low.get(shown).wantError(http.StatusForbidden, errs.InsufficientScope)

		ann.delete(at).want(http.StatusOK)
		nobody.get(shown).wantError(http.StatusUnauthorized, errs.MissingToken)
		ann.get(shown).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestBlocksAreFilledWithTheConfiguration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		_, shown := ann.site(
			map[string]any{
				"name": "Site", "slug": "site",
				"config": map[string]any{
					"schema": map[string]any{
						"token":  map[string]any{"type": "string", "secret": true},
						"server": map[string]any{"type": "object", "properties": map[string]any{"key": map[string]any{"type": "string", "secret": true}, "url": map[string]any{"type": "string"}}},
						"keys":   map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"value": map[string]any{"type": "string", "secret": true}}}},
						"either": map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "string", "secret": true}}},
					},
					"value": map[string]any{
						"title": "Welcome", "count": 3, "on": true, "list": []any{"a", "b"}, "base": "https://example.test", "full": "{{config.base}}/v1", "twice": "{{config.full}}",
						"token": "hidden-1", "server": map[string]any{"key": "hidden-2", "url": "https://server.test"}, "keys": []any{map[string]any{"value": "hidden-3", "name": "k"}},
						"either": "hidden-4", "made": "Bearer {{secret.hidden5}}",
					},
				},
				"blocks": map[string]any{"Own": map[string]any{"blocks": []any{map[string]any{"slug": "RichText", "content": "{{config.title}} and {{config.token}}"}}}},
			},
			map[string]any{"name": "{{config.title}}", "slug": "home", "blocks": []any{map[string]any{
				"slug": "RichText", "content": "{{config.title}}: {{user.name}} {{config.count}} {{config.none}}", "whole": "{{config.count}}", "list": "{{config.list}}", "second": "{{config.list[1]}}",
				"on": "{{config.on}}", "text": "{{config.list}}!", "full": "{{config.full}}", "twice": "{{config.twice}}", "inner": []any{map[string]any{"slug": "Action", "value": "{{config['title']}}"}},
				"secrets": "{{config.token}} {{config.server.key}} {{config.keys[0].value}} {{config.either}} {{config.made}}", "server": "{{config.server}}", "all": "{{config}}",
				"odd": "{{config.}} {{config {{config.title}} {{.config.title}} {{configs.title}} {{ config.title }}", "{{config.title}}": "a key",
			}}},
		)
		got := ann.get(shown).want(http.StatusOK)
		for path, want := range map[string]string{
			"name":    "{{config.title}}", // only blocks are filled
			"content": "Welcome: {{user.name}} 3 {{config.none}}", "second": "b", "full": "https://example.test/v1", "twice": "{{config.base}}/v1",
			"text": "[\n  \"a\",\n  \"b\"\n]!", "inner.0.value": "Welcome", "server.url": "https://server.test", "all.title": "Welcome", "all.keys.0.name": "k",
			"secrets": "{{config.token}} {{config.server.key}} {{config.keys[0].value}} {{config.either}} {{config.made}}",
			"odd":     "{{config.}} {{config Welcome {{.config.title}} {{configs.title}} {{ config.title }}",
		} {
			if path != "name" {
				path = "blocks.0." + path
			}
			if got.text(path) != want {
				t.Errorf("%s is %q, want %q", path, got.text(path), want)
			}
		}
		if whole, on := got.at("blocks.0.whole"), got.at("blocks.0.on"); whole != 3.0 || on != true {
			t.Errorf("a variable alone does not keep its type: %v, %v", whole, on)
		}
		if own := got.text("appInstances.0.blocks.Own.blocks.0.content"); own != "Welcome and {{config.token}}" {
			t.Errorf("the workspace's own block: %q", own)
		}
		if block, _ := got.at("blocks.0").(map[string]any); block["{{config.title}}"] != "a key" {
			t.Errorf("keys are not filled: %s", got.body)
		}
		if contains(got.body.String(), "hidden") {
			t.Errorf("something secret is shown: %s", got.body)
		}
	})
}

// A small page with a large configuration must not become a large answer, or fill the memory.
func TestAPageThatGrowsTooLarge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		workspace := map[string]any{"name": "Site", "slug": "site", "config": map[string]any{"value": map[string]any{
			"big": strings.Repeat("x", 300_000), "bigger": strings.Repeat("{{config.big}}", 1000), "list": []any{strings.Repeat("y", 100_000)},
		}}}
		at, _ := ann.site(workspace, map[string]any{"name": "Home", "slug": "home"})
		for name, block := range map[string]any{
			"texts":    map[string]any{"slug": "RichText", "content": strings.Repeat("a {{config.big}} ", 1000)},
			"wholes":   map[string]any{"slug": "RichText", "content": many("{{config.big}}", 1000)},
			"lists":    map[string]any{"slug": "RichText", "content": many("{{config.list}}", 1000)},
			"anything": map[string]any{"slug": "RichText", "content": many("{{config}}", 1000)},
		} {
			ann.put(at+"/pages/home", map[string]any{"name": name, "slug": "home", "blocks": []any{block}}).want(http.StatusOK)
			ann.get("/v2/pages/site/home").wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		}
		ann.patch(at, map[string]any{"config": map[string]any{"value": map[string]any{"big": "small"}}}).want(http.StatusOK)
		ann.get("/v2/pages/site/home").want(http.StatusOK)
	})
}

func many(text string, count int) []any {
	all := make([]any, count)
	for i := range all {
		all[i] = text
	}
	return all
}

func TestAddressesOfPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, nobody := h.user("ann"), h.as(access.Principal{})
		at, _ := ann.site(map[string]any{"name": "Site", "slug": "site"}, map[string]any{"name": "Home", "slug": "home"})
		for _, path := range []string{
			"/v2/pages/site/HOME", "/v2/pages/site/home%20", "/v2/pages/site/home%2Fmore", "/v2/pages/site/%27%20OR%201=1--", "/v2/pages/site",
		} {
			ann.get(path).wantError(http.StatusNotFound, errs.NotFound)
			nobody.get(path).wantError(http.StatusUnauthorized, errs.MissingToken)
		}
		ann.get("/v2/pages/site/home/").want(http.StatusOK)

		// The root is the page index; the page permissions is told from the permissions of a page by a slash.
		ann.page(at, map[string]any{"name": "Root", "slug": "index"})
		if got := ann.get("/v2/pages/site").want(http.StatusOK); got.text("name") != "Root" {
			t.Errorf("root: %s", got.body)
		}
		ann.page(at, map[string]any{"name": "Permissions", "slug": "permissions"})
		if got := ann.get("/v2/pages/site/permissions/").want(http.StatusOK); got.text("name") != "Permissions" {
			t.Errorf("a page called permissions: %s", got.body)
		}
	})
}

// A page brings the blocks of the apps that its workspace has instances of, filled with the configuration of each instance.
func TestAPageBringsTheBlocksOfApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		made := ann.post("/v2/workspaces", map[string]any{
			"name": "Charts", "slug": "charts", "description": "Draws", "photo": "https://example.test/charts.png",
			"config": map[string]any{
				"schema": map[string]any{"key": map[string]any{"type": "string", "secret": true}, "title": map[string]any{"type": "string"}},
				"value":  map[string]any{"title": "Chart", "base": "https://charts.test", "full": "{{config.base}}/{{config.title}}", "key": "hidden-default", "internal": "for the app alone"},
			},
			"blocks": map[string]any{
				"Bar": map[string]any{"blocks": []any{map[string]any{
					"slug": "RichText", "content": "{{appConfig.title}} {{config.title}} {{config.key}}", "from": "{{config.full}}", "other": "{{config.of the workspace}}", "given": "{{appConfig.given}}",
				}}},
				"Pie": map[string]any{"url": "{{config.base}}/pie.js"},
			},
		}).want(http.StatusCreated)
		charts := "/v2/workspaces/" + made.text("id")
		ann.publish(charts, "Charts").want(http.StatusCreated)

		at, shown := bob.site(
			map[string]any{"name": "Site", "slug": "site", "config": map[string]any{
				"schema": map[string]any{"token": map[string]any{"type": "string", "secret": true}},
				"value":  map[string]any{"name": "Sales", "token": "hidden-token", "of the workspace": "not for apps"},
			}},
			map[string]any{"name": "Home", "slug": "home", "blocks": []any{map[string]any{"slug": "first.Bar", "text": "{{appConfig.title}}"}}},
		)
		bob.install(at, "Charts", "slug", "first", "config", map[string]any{
			"title": "{{config.name}} and {{config.token}}", "key": "hidden-key", "given": "{{config.internal}} {{config.base}}",
		}).want(http.StatusCreated)
		bob.install(at, "Charts", "slug", "second").want(http.StatusCreated)
		bob.install(at, "Charts", "slug", "off", "disabled", true).want(http.StatusCreated)

		got := bob.get(shown).want(http.StatusOK)
		for path, want := range map[string]string{
			"blocks.0.text": "{{appConfig.title}}", "appInstances.0.slug": "", "appInstances.1.slug": "first", "appInstances.2.slug": "second",
			"appInstances.1.blocks.Pie":                  "https://charts.test/pie.js",
			"appInstances.1.blocks.Bar.blocks.0.content": "Sales and {{config.token}} Sales and {{config.token}} {{config.key}}",
			"appInstances.1.blocks.Bar.blocks.0.from":    "https://charts.test/Sales and {{config.token}}",
			"appInstances.1.blocks.Bar.blocks.0.other":   "{{config.of the workspace}}",
			"appInstances.1.blocks.Bar.blocks.0.given":   "{{config.internal}} {{config.base}}", // an instance does not read what the app has for itself
			"appInstances.2.blocks.Bar.blocks.0.content": "Chart Chart {{config.key}}",
		} {
			if got.text(path) != want {
				t.Errorf("%s is %q, want %q", path, got.text(path), want)
			}
		}
		if got.at("appInstances.3") != nil || contains(got.body.String(), "hidden") || contains(got.body.String(), "for the app alone") {
			t.Errorf("too much is shown: %s", got.body)
		}
	})
}
