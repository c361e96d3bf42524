package service_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/dsul/assembly"
	language "atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/service"
)

// definitions opens what the runtime opens, on the database of the house.
func (h *house) definitions() *service.Definitions {
	return service.NewDefinitions(service.DefinitionsDeps{
		DB: h.db, Bus: h.deps.Bus, Clock: h.clk, IDs: h.deps.IDs, Access: h.deps.Access, Vault: h.deps.Vault, Environ: h.deps.Environ,
	})
}

// published makes a workspace that publishes an app, and gives its address.
func (c *caller) published(slug string, documents map[string]map[string]any) string {
	c.house.t.Helper()
	at := c.workspace("Of " + slug)
	c.patch(at, map[string]any{"photo": "https://example.test/p.png", "description": "An app"}).want(http.StatusOK)
	for path, body := range documents {
		c.put(at+path, body).want(http.StatusCreated)
	}
	c.publish(at, slug).want(http.StatusCreated)
	return at
}

func shown(v any) string {
	text, _ := language.JSON(v, "", 1<<20)
	return text
}

// Everything that a running workspace is made of changes its stamp, and nothing else does.
func TestStamp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, root, d := h.user("ann"), h.superAdmin(), h.definitions()
		inner := ann.published("Inner", map[string]map[string]any{"/automations/go": {"name": "Go", "do": []any{}}})
		outer := ann.published("Zouter", nil)
		ann.post(outer+"/apps", map[string]any{"appSlug": "Inner", "slug": "in"}).want(http.StatusCreated)
		ann.publish(outer, "Zouter").want(http.StatusOK)
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		ann.post(at+"/apps", map[string]any{"appSlug": "Zouter", "slug": "out"}).want(http.StatusCreated)
		tree, err := d.Load(t.Context(), idOf(at))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tree.Apps, []string{"Inner", "Zouter"}) {
			t.Errorf("apps: %v", tree.Apps)
		}
		last := tree.Stamp
		now := func(what string, changed bool) {
			t.Helper()
			stamp, err := d.Stamp(t.Context(), idOf(at), tree.Apps)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if (stamp != last) != changed {
				t.Errorf("%s: changed: %v\n%+v\n%+v", what, !changed, last, stamp)
			}
			if tree, err = d.Load(t.Context(), idOf(at)); err != nil || tree.Stamp != stamp {
				t.Errorf("%s: the tree has another stamp: %v\n%+v\n%+v", what, err, tree.Stamp, stamp)
			}
			last = stamp
		}
		now("nothing", false)
		ann.put(at+"/automations/a", map[string]any{"name": "A", "do": []any{}}).want(http.StatusCreated)
		now("an automation", true)
		ann.put(other+"/automations/a", map[string]any{"name": "A", "do": []any{}}).want(http.StatusCreated)
		now("another workspace", false)
		ann.patch(at+"/security/secrets", map[string]any{"one": map[string]any{"value": "1"}}).want(http.StatusOK)
		now("a secret", true)
		ann.patch(at+"/security/secrets", map[string]any{"one": map[string]any{"value": "1"}}).want(http.StatusOK)
		now("the secret again", true)
		ann.put(at+"/security/secrets", map[string]any{"two": map[string]any{"value": "1"}}).want(http.StatusOK)
		now("another secret", true)
		ann.put(inner+"/automations/more", map[string]any{"name": "More", "do": []any{}}).want(http.StatusCreated)
		now("the workspace of an app", false)
		ann.publish(inner, "Inner").want(http.StatusOK)
		now("an app inside an app", true)
		ann.patch(at, map[string]any{"slug": "mine-too"}).want(http.StatusOK)
		now("the slug", true)
		ann.patch(other, map[string]any{"registerWorkspace": true}).want(http.StatusOK)
		now("a registered workspace", true)
		if len(tree.Registry) != 1 || tree.Registry[0].ID != idOf(other) || tree.Registry[0].Name != "Other" {
			t.Errorf("registry: %+v", tree.Registry)
		}
		ann.patch(other, map[string]any{"description": "x"}).want(http.StatusOK)
		now("the registered workspace", false)
		root.put(at+"/suspension", map[string]any{"reason": "unpaid"}).want(http.StatusOK)
		now("the suspension", true)
		if !tree.Suspended || tree.SuspendedReason != "unpaid" {
			t.Errorf("suspended: %v %s", tree.Suspended, tree.SuspendedReason)
		}
		root.delete("/v2/apps/Inner?force=true").want(http.StatusOK)
		now("an app that is gone", true)
		if len(tree.Skipped) != 1 || tree.Skipped[0].App != "Inner" {
			t.Errorf("skipped: %+v", tree.Skipped)
		}
		ann.delete(at).want(http.StatusOK)
		now("the bin", true)
		if !tree.Deleted {
			t.Error("it is not deleted")
		}
		if _, err := d.Stamp(t.Context(), "nothere", nil); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("no workspace: %v", err)
		}
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.deps.Environ = func(prefix string) map[string]string {
			return map[string]map[string]string{
				"WORKSPACE_CONFIG_mine_": {"region": "eu", "unset": ""}, "APP_CONFIG_MyApp_": {"url": "https://env"},
				"APP_SECRET_MyApp_": {"key": "app-key"}, "WORKSPACE_SECRET_mine_": {"given": "g1v3n"},
			}[prefix]
		}
		h.open()
		ann, root, d := h.user("ann"), h.superAdmin(), h.definitions()
		source := ann.published("My App", map[string]map[string]any{"/automations/go": {"name": "Go", "do": []any{}}, "/pages/p": {"name": "P", "blocks": []any{}}})
		at := ann.workspace("Mine")
		ann.patch(at, map[string]any{"slug": "mine"}).want(http.StatusOK)
		ann.put(at+"/automations/hello", map[string]any{"name": "Hello", "do": []any{}}).want(http.StatusCreated)
		ann.post(at+"/apps", map[string]any{"appSlug": "My App", "slug": "first"}).want(http.StatusCreated)
		version := ann.get("/v2/apps/My%20App").want(http.StatusOK).text("version")
		ann.post(at+"/apps", map[string]any{"appSlug": "My App", "slug": "pinned", "appVersion": version}).want(http.StatusCreated)
		ann.post(at+"/apps", map[string]any{"appSlug": "My App", "slug": "off", "disabled": true}).want(http.StatusCreated)
		ann.post(at+"/apps", map[string]any{"appSlug": "Collection", "slug": "things", "config": map[string]any{"collectionName": "t"}}).want(http.StatusCreated)
		ann.put(source+"/automations/newer", map[string]any{"name": "Newer", "do": []any{}}).want(http.StatusCreated)
		ann.publish(source, "My App").want(http.StatusOK)
		ann.patch(at+"/security/secrets", map[string]any{"token": map[string]any{"value": "t0k3n"}}).want(http.StatusOK)
		root.patch(at+"/security/secrets", map[string]any{"svc_ratelimit_disabled": map[string]any{"value": "true"}}).want(http.StatusOK)
		tree, err := d.Load(t.Context(), idOf(at))
		if err != nil {
			t.Fatal(err)
		}
		automations := func(p *assembly.Place) (slugs []string) {
			for _, one := range p.Automations {
				slugs = append(slugs, one.Slug)
			}
			return slugs
		}
		places := map[string]*assembly.Place{}
		for _, one := range tree.Root.Instances {
			places[one.Instance] = one
		}
		if len(places) != 3 || len(tree.Root.Imports) != 4 || !slices.Equal(automations(tree.Root), []string{"hello"}) {
			t.Fatalf("instances: %v, imports: %d, automations: %v", places, len(tree.Root.Imports), automations(tree.Root))
		}
		if got := automations(places["first"]); !slices.Equal(got, []string{"go", "newer"}) {
			t.Errorf("the newest version: %v", got)
		}
		if got := automations(places["pinned"]); !slices.Equal(got, []string{"go"}) || places["pinned"].Version != version {
			t.Errorf("a version: %v", got)
		}
		if !places["things"].Builtin || tree.Root.Environment["region"] != "eu" || len(tree.Root.Environment) != 1 || places["first"].Environment["url"] != "https://env" {
			t.Errorf("what the operator gives: %v, %v", tree.Root.Environment, places["first"].Environment)
		}
		if tree.Root.Secrets["token"] != "t0k3n" || tree.Root.Secrets["given"] != "g1v3n" || len(tree.Root.Secrets) != 2 || places["first"].Secrets["key"] != "app-key" ||
			tree.System["svc_ratelimit_disabled"] != "true" || len(tree.System) != 1 {
			t.Error("the secrets are wrong")
		}
	})
}

// set sets a key of a configuration, as an automation does.
func (h *house) set(d *service.Definitions, at string, instance []string, key string, v any) (after any, err error) {
	h.t.Helper()
	ctx := access.With(h.t.Context(), access.Principal{Kind: access.Anonymous, UserID: "visitor"})
	err = h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		after, err = d.SetConfig(ctx, tx, idOf(at), instance, []string{key}, func(old any) (any, error) {
			made := language.NewObject(0)
			for name, was := range old.(*language.Object).All() {
				made.Set(name, was)
			}
			if v == any(language.Undefined{}) {
				made.Delete(key)
			} else {
				made.Set(key, v)
			}
			return made, nil
		})
		return err
	})
	return after, err
}

func TestSetConfigOfTheWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.deps.Environ = func(prefix string) map[string]string {
			return map[string]map[string]string{"WORKSPACE_CONFIG_mine_": {"region": "eu"}}[prefix]
		}
		ann, d := h.user("ann"), h.definitions()
		at := ann.workspace("Mine")
		ann.patch(at+"/security/secrets", map[string]any{"token": map[string]any{"value": "t0k3n"}}).want(http.StatusOK)
		ann.patch(at, map[string]any{"slug": "mine", "config": map[string]any{"value": map[string]any{"token": "{{secret.token}}", "n": 1}}}).want(http.StatusOK)
		after, err := h.set(d, at, nil, "n", 2.0)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(after); got != `{"region":"eu","n":2,"token":"t0k3n"}` {
			t.Errorf("after: %s", got)
		}
		if text := ann.yaml(at); !strings.Contains(text, "{{secret.token}}") || !strings.Contains(text, "n: 2\n") || strings.Contains(text, "region") {
			t.Errorf("index:\n%s", text)
		}
		if said := h.payload(at, "workspaces.configured"); said.text("config.value.n") != "2" || said.text("oldConfig.value.n") != "1" {
			t.Errorf("event: %s", said.body)
		}
		before := len(h.events(at, "workspaces.configured"))
		if _, err := h.set(d, at, nil, "n", 2.0); err != nil || len(h.events(at, "workspaces.configured")) != before {
			t.Errorf("the same again: %v", err)
		}
		if _, err := h.set(d, at, nil, "n", language.Undefined{}); err != nil || strings.Contains(ann.yaml(at), "n: 2") {
			t.Errorf("deleted: %v\n%s", err, ann.yaml(at))
		}
		if _, err := h.set(d, at, nil, "region", "us"); err != nil || !strings.Contains(ann.yaml(at), "region: us") {
			t.Errorf("over what the operator gives: %v\n%s", err, ann.yaml(at))
		}
		bare := ann.workspace("Bare")
		if _, err := h.set(d, bare, nil, "a", []any{"x", nil}); err != nil {
			t.Fatal(err)
		}
		if text := ann.yaml(bare); !strings.Contains(text, "config:\n  value:\n    a:\n") {
			t.Errorf("index:\n%s", text)
		}
		if _, err := h.set(d, "/v2/workspaces/nothere", nil, "a", 1.0); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("no workspace: %v", err)
		}
	})
}

func TestSetConfigOfAnInstance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, d := h.user("ann"), h.definitions()
		inner := ann.published("Inner", nil)
		ann.patch(inner, map[string]any{"config": map[string]any{"value": map[string]any{"a": "default", "b": "default"}}}).want(http.StatusOK)
		ann.publish(inner, "Inner").want(http.StatusOK)
		outer := ann.published("Outer", nil)
		ann.post(outer+"/apps", map[string]any{"appSlug": "Inner", "slug": "in", "config": map[string]any{"b": "outer"}}).want(http.StatusCreated)
		ann.publish(outer, "Outer").want(http.StatusOK)
		at := ann.workspace("Mine")
		ann.post(at+"/apps", map[string]any{"appSlug": "Outer", "slug": "out"}).want(http.StatusCreated)
		if after, err := h.set(d, at, []string{"out"}, "x", 1.0); err != nil || shown(after) != `{"x":1}` {
			t.Errorf("%s %v", shown(after), err)
		}
		if after, err := h.set(d, at, []string{"out", "in"}, "a", "set"); err != nil || shown(after) != `{"a":"set","b":"outer"}` {
			t.Errorf("%s %v", shown(after), err)
		}
		config := ann.get(at + "/apps/out/config").want(http.StatusOK)
		if config.text("x") != "1" || config.text("in.a") != "set" || config.at("in.b") != nil {
			t.Errorf("config: %s", config.body)
		}
		if found := h.events(at, "workspaces.apps.configured"); len(found) != 2 || found[0].Source.AppInstanceFullSlug != "out" || found[0].Source.AppSlug != "Outer" {
			t.Errorf("events: %+v", found)
		}
		if _, err := h.set(d, at, []string{"none"}, "a", 1.0); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("no instance: %v", err)
		}
		refused := errors.New("no")
		err := h.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			_, err := d.SetConfig(t.Context(), tx, idOf(at), []string{"out"}, nil, func(any) (any, error) { return nil, refused })
			return err
		})
		if !errors.Is(err, refused) {
			t.Errorf("refused: %v", err)
		}
	})
}

// While somebody holds the write lock nothing is configured.
func TestSetConfigIsLocked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, d := h.user("ann"), h.definitions()
		at := ann.workspace("Mine")
		err := h.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE ws_workspaces SET lock_reason = 'pull', lock_by = 'ann', lock_until = $1 WHERE id = $2`, sqldb.Millis(h.clk.Now())+60_000, idOf(at))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.set(d, at, nil, "a", 1.0); errs.CodeOf(err) != errs.Locked {
			t.Errorf("%v", err)
		}
	})
}

// The apps of the platform can be installed by everybody, and published by nobody.
func TestBuiltinApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		for _, slug := range []string{"Custom Code", "Collection"} {
			shown := ann.get("/v2/apps/" + strings.ReplaceAll(slug, " ", "%20")).want(http.StatusOK)
			if shown.text("slug") != slug || shown.text("version") != "current" || shown.at("config.schema") == nil || shown.text("versions.0.name") != "current" {
				t.Errorf("%s", shown.body)
			}
			ann.post(at+"/apps", map[string]any{"appSlug": slug}).want(http.StatusCreated)
			ann.post(at+"/apps", map[string]any{"appSlug": slug, "slug": "old", "appVersion": "1"}).wantField("appVersion")
			ann.delete("/v2/apps/"+strings.ReplaceAll(slug, " ", "%20")).wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		ann.post(at+"/apps", map[string]any{"appSlug": "custom code", "slug": "small"}).wantField("appSlug")
		listed := ann.get(at + "/apps").want(http.StatusOK)
		if !strings.Contains(listed.body.String(), `"run function"`) || !strings.Contains(listed.body.String(), `"insertMany"`) {
			t.Errorf("instances: %s", listed.body)
		}
		source := ann.workspace("Source")
		ann.patch(source, map[string]any{"photo": "https://example.test/p.png", "description": "An app"}).want(http.StatusOK)
		for _, slug := range []string{"Custom Code", "COLLECTION"} {
			ann.post("/v2/apps", map[string]any{"workspaceId": idOf(source), "slug": slug}).wantError(http.StatusConflict, errs.AlreadyExists)
		}
	})
}
