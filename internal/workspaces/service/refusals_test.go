package service_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// A document is written at its own address: another one is never replaced by the way.
func TestWritesStayAtTheirAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.put(at+"/pages/p", map[string]any{"name": "Mine"}).want(http.StatusCreated)
		ann.put(at+"/pages/elsewhere", map[string]any{"slug": "p", "name": "Taken"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("slug")
		ann.put(at+"/pages/q", map[string]any{"name": "Other"}).want(http.StatusCreated)
		ann.put(at+"/pages/q", map[string]any{"slug": "p", "name": "Taken"}).wantError(http.StatusConflict, errs.AlreadyExists)
		if page := ann.get(at + "/pages/p"); page.text("name") != "Mine" {
			t.Errorf("page: %s", page.body)
		}
		ann.with("If-None-Match", "*").put(at+"/pages/p", map[string]any{"name": "Again"}).wantError(http.StatusPreconditionFailed, errs.Conflict)
		ann.with("If-Match", "*").put(at+"/pages/none", map[string]any{"name": "None"}).wantError(http.StatusPreconditionFailed, errs.Conflict)
		ann.with("If-None-Match", "*").put(at+"/pages/new", map[string]any{"name": "New"}).want(http.StatusCreated)
	})
}

// What a caller may not set it may not remove either (B-MAS-01); what it has read it may send back.
func TestKeysThatAreNotForCallers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		for _, key := range []string{
			"id", "dirty", "lastPush", "lastPull", "ownerId", "workspaceId", "createdAt", "createdBy", "roles", "locked", "_id", "subjectId", "conditions",
			"isSuperAdmin", "customDomains", "writeLock", "platformRepositories",
		} {
			for _, value := range []any{nil, "x", 7} {
				ann.patch(at, map[string]any{key: value, "name": "Changed"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(key)
			}
		}
		before := ann.get(at).want(http.StatusOK)
		if before.text("name") != "Mine" {
			t.Errorf("something was changed: %s", before.body)
		}
		same := ann.patch(at, before.body.String()).want(http.StatusOK)
		if same.header.Get("ETag") != before.header.Get("ETag") {
			t.Errorf("what was read and sent back is a change: %s", same.body)
		}
	})
}

// Whatever way an edit takes, the rules about single pages and fields hold; and a page that comes back is the same page.
func TestUndoAndTheRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		ann.put(at+"/pages/p", map[string]any{"name": "P"}).want(http.StatusCreated)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.post(at+"/versions", map[string]any{"name": "v1"}).want(http.StatusCreated)
		ann.patch(at+"/pages/p", map[string]any{"name": "P2"}).want(http.StatusOK)
		revision := ann.get(at + "/history?limit=1").text("0.revision")
		security := map[string]any{"authorizations": map[string]any{
			"roles": map[string]any{"editor": map[string]any{}},
			"rules": []any{
				map[string]any{"role": "editor", "action": []string{"read", "update"}, "subject": "workspaces"},
				map[string]any{"role": "editor", "action": []string{"read", "update"}, "subject": "pages"},
				map[string]any{"role": "editor", "action": []string{"read", "update"}, "subject": "pages", "inverted": true, "conditions": map[string]any{"slug": "p"}},
			},
		}}
		ann.put(at+"/security", security).want(http.StatusOK)
		bob.patch(at+"/pages/p", map[string]any{"name": "Bob"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.post(at+"/history/"+revision+"/undo", nil).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.post(at+"/versions/v1/pull", nil).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.delete(at+"/pages/p").wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.get(at+"/export").wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.get(at+"/history/"+revision+"/text?path=pages/p").wantError(http.StatusForbidden, errs.PermissionDenied)
		if page := ann.get(at + "/pages/p"); page.text("name") != "P2" {
			t.Errorf("page: %s", page.body)
		}
		id := ann.get(at + "/pages/p").text("id")
		ann.delete(at + "/pages/p").want(http.StatusOK)
		gone := ann.get(at + "/history?limit=1").text("0.revision")
		ann.post(at+"/history/"+gone+"/undo", nil).want(http.StatusOK)
		if back := ann.get(at + "/pages/p").text("id"); back != id {
			t.Errorf("the page came back as %s, it was %s", back, id)
		}
		ann.delete(at + "/pages/p").want(http.StatusOK)
		ann.put(at+"/pages/p", map[string]any{"name": "New"}).want(http.StatusCreated)
		if fresh := ann.get(at + "/pages/p").text("id"); fresh == id {
			t.Error("a new page has the id, and so the permissions, of the old one")
		}
	})
}

func TestUndoOfASlug(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		was := ann.get(at).text("slug")
		ann.patch(at, map[string]any{"slug": "another-one"}).want(http.StatusOK)
		ann.post(at+"/history/"+ann.get(at+"/history?limit=1").text("0.revision")+"/undo", nil).want(http.StatusOK)
		if slug := ann.get(at).text("slug"); slug != was {
			t.Errorf("the slug is %s, it was %s", slug, was)
		}
		ann.get("/v2/workspaces/slug:" + was).want(http.StatusOK)
	})
}

// The slug and the labels of a workspace can differ from what its index says after an import. The rules on them are about the
// workspace: what an index merely says is no change, and to set what it says already is one.
func TestRulesOnSlugAndLabels(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := workspacesPath + ann.post("/v2/workspaces", map[string]any{"name": "Mine", "slug": "mine", "labels": []string{"aa", "bb"}}).want(http.StatusCreated).text("id")
		ann.bring(at+"/import", pack("index.yml", "name: Mine\nslug: theirs\nlabels: [aa]\n")).want(http.StatusOK)
		fixed := rule("editor", "update", "workspaces")
		fixed["inverted"], fixed["fields"] = true, []string{"slug", "labels"}
		ann.put(at+"/security", document(map[string]any{"editor": map[string]any{}}, rule("editor", []string{"read", "update"}, []string{"workspaces"}), fixed)).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		for name, body := range map[string]map[string]any{"the slug": {"slug": "theirs"}, "the labels": {"labels": []string{"aa"}}, "no labels": {"labels": nil}, "other labels": {"labels": []string{"cc"}}} {
			if refused := bob.patch(at, body).wantError(http.StatusForbidden, errs.PermissionDenied); refused.text("details.document") != "index" {
				t.Errorf("%s: %s", name, refused.body)
			}
		}
		bob.bring(at+"/import", pack("index.yml", "name: Yours\nslug: another\nlabels: [aa]\n")).want(http.StatusOK)
		bob.bring(at+"/import", pack("index.yml", "name: Yours\nlabels: [aa, cc]\n")).wantError(http.StatusForbidden, errs.PermissionDenied)
		if shown := ann.get(at); shown.text("slug") != "mine" || shown.text("name") != "Yours" || !slices.Equal(shown.list("labels"), []string{"aa", "bb"}) {
			t.Errorf("in the end: %s", shown.body)
		}
	})
}

// Who changes a part of the index, or an app instance, is answered with what it changed: nobody else's change is in it, and
// it needs no right to read.
func TestAnswersAreOfTheEdit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		ann.app("tool")
		at := ann.workspace("Mine")
		ann.install(at, "tool", "slug", "one").want(http.StatusCreated)
		blind := rule("writer", "read", "workspaces")
		blind["inverted"] = true
		ann.put(at+"/security", document(map[string]any{"writer": map[string]any{}}, rule("writer", "update", "workspaces"), blind)).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "writer"}).want(http.StatusOK)
		bob.get(at+"/config").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		for range 2 { // the second time nothing changes
			config := bob.patch(at+"/config", map[string]any{"value": map[string]any{"a": 1}}).want(http.StatusOK)
			if config.text("value.a") != "1" || config.header.Get("ETag") != ann.get(at+"/config").header.Get("ETag") {
				t.Errorf("config: %s %s", config.header.Get("ETag"), config.body)
			}
			block := bob.put(at+"/blocks/Card", map[string]any{"name": "Card"}).want(http.StatusOK)
			if block.text("name") != "Card" || block.header.Get("ETag") != ann.get(at+"/blocks/Card").header.Get("ETag") {
				t.Errorf("block: %s %s", block.header.Get("ETag"), block.body)
			}
			instance := bob.patch(at+"/apps/one/config", map[string]any{"b": 2}).want(http.StatusOK)
			if instance.text("b") != "2" || instance.header.Get("ETag") != ann.get(at+"/apps/one/config").header.Get("ETag") {
				t.Errorf("instance: %s %s", instance.header.Get("ETag"), instance.body)
			}
		}
		bob.delete(at + "/blocks/Card").want(http.StatusOK)
		bob.delete(at+"/blocks/Card").wantError(http.StatusNotFound, errs.NotFound)
	})
}

// More text than a linter can hold in memory is refused; leaving documents out makes room.
func TestLintOfVeryMuch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.put(at+"/automations/a", map[string]any{"name": "a", "do": []any{}}).want(http.StatusCreated)
		h.change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE ws_documents SET size = 16777216 WHERE path = 'automations/a'`) // with the index it is more
			return err
		})
		refused := ann.post(at+"/lint", nil).wantError(http.StatusRequestEntityTooLarge, errs.PayloadTooLarge)
		if refused.text("details.limit") == "" || refused.text("details.size") == "" {
			t.Errorf("%s", refused.body)
		}
		ann.post(at+"/lint", map[string]any{"documents": map[string]string{"automations/a": ""}}).want(http.StatusOK)
	})
}

func TestLintOfDrafts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		if found := ann.post(at+"/lint", nil).want(http.StatusOK); found.text("valid") != "true" {
			t.Errorf("a new workspace: %s", found.body)
		}
		found := ann.post(at+"/lint", map[string]any{"documents": map[string]string{
			"security":         "authorizations:\n  rules: [{role: zz, action: fly, subject: x}]\n",
			"automations/call": "name: Call\ndo:\n  - nobody: {}\n",
		}}).want(http.StatusOK)
		if found.text("valid") != "false" || !contains(found.body.String(), "bad_security") || !contains(found.body.String(), "unknown_automation") {
			t.Errorf("drafts: %s", found.body)
		}
		ann.get(at+"/automations/call").wantError(http.StatusNotFound, errs.NotFound)
		ann.post(at+"/lint", map[string]any{"documents": map[string]string{"../x": "a: 1"}}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
	})
}

// An export has no secret value, and importing it again takes none away.
func TestSecretsSurviveTheirOwnExport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.patch(at+"/config", map[string]any{
			"schema": map[string]any{"key": map[string]any{"type": "string", "secret": true}, "url": map[string]any{"type": "string"}},
			"value":  map[string]any{"key": "hunter2", "url": "https://x.test"},
		}).want(http.StatusOK)
		before := ann.get(at).header.Get("ETag")
		exported := ann.get(at + "/export").want(http.StatusOK).body.String()
		ann.with("Content-Type", "application/zip").do(http.MethodPost, at+"/import", exported).want(http.StatusOK)
		if after := ann.get(at).header.Get("ETag"); after != before {
			t.Errorf("importing the own export is a change: %s, was %s", after, before)
		}
		ann.patch(at, map[string]any{"description": "changed since"}).want(http.StatusOK)
		ann.with("Content-Type", "application/zip").do(http.MethodPost, at+"/import", exported).want(http.StatusOK)
		if config := ann.get(at + "/config"); config.text("value.key") != "hunter2" {
			t.Errorf("the import took the secret away: %s", config.body)
		}
	})
}

// The security is a text like every other document, and taking a workspace away leaves a trace.
func TestSecurityTextAndExports(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		if text := ann.yaml(at + "/security"); !contains(text, "# Who may do what in this workspace.") {
			t.Errorf("security: %s", text)
		}
		ann.get(at + "/export").want(http.StatusOK)
		if event := h.payload(at, "workspaces.exported"); event.text("actor.userId") != "ann" || event.text("version.name") != "current" {
			t.Errorf("event: %s", event.body)
		}
	})
}

// The example of the API document works as it is.
func TestExampleOfAWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(_ *testing.T, h *house) {
		h.user("ann").post("/v2/workspaces", `{"name":"Orders","slug":"orders","description":"Takes orders","photo":"https://example.com/orders.png","labels":["team:sales"],
			"config":{"value":{}},"blocks":{},"registerWorkspace":true,"secrets":{},"events":{}}`).want(http.StatusCreated)
	})
}
