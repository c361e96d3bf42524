package service_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
)

func TestWriteLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		bob.post(at+"/writeLock", nil).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.delete(at+"/writeLock").wantError(http.StatusForbidden, errs.PermissionDenied)
		locked := ann.post(at+"/writeLock", map[string]any{"reason": "release"}).want(http.StatusOK)
		if locked.text("writeLock.reason") != "release" || locked.text("writeLock.lockedBy") != "ann" {
			t.Errorf("locked: %s", locked.body)
		}
		if shown := ann.get(at).want(http.StatusOK); shown.text("writeLock.reason") != "release" {
			t.Errorf("workspace: %s", shown.body)
		}
		for _, refused := range []*answer{
			bob.patch(at, map[string]any{"name": "Other"}),
			ann.patch(at, map[string]any{"name": "Other"}),
			bob.put(at+"/automations/x", map[string]any{"name": "x", "do": []any{}}),
			ann.patch(at+"/config", map[string]any{"value": 1}),
			ann.post(at+"/versions", map[string]any{}),
			ann.post(at+"/writeLock", map[string]any{"reason": "other"}),
			ann.delete(at),
		} {
			refused.wantError(http.StatusLocked, errs.Locked)
			if refused.text("details.reason") != "release" || refused.text("details.lockedBy") != "ann" || refused.text("details.lockedAt") == "" {
				t.Errorf("%s: %s", refused.what, refused.body)
			}
		}
		ann.post(at+"/writeLock", map[string]any{"reason": "release"}).want(http.StatusOK) // the same again
		ann.delete(at + "/writeLock").want(http.StatusOK)
		ann.delete(at + "/writeLock").want(http.StatusOK) // nothing to clear is no mistake
		ann.patch(at, map[string]any{"name": "Other"}).want(http.StatusOK)
	})
}

func TestWriteLockExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.post(at+"/writeLock", nil).want(http.StatusOK)
		h.clk.Advance(h.deps.LockTimeout - time.Second)
		ann.patch(at, map[string]any{"name": "Too early"}).wantError(http.StatusLocked, errs.Locked)
		h.clk.Advance(time.Second)
		ann.patch(at, map[string]any{"name": "Now"}).want(http.StatusOK)
		if shown := ann.get(at); shown.at("writeLock") != nil {
			t.Errorf("an expired lock is shown: %s", shown.body)
		}
		ann.post(at+"/writeLock", map[string]any{"reason": "merge_conflict"}).want(http.StatusOK)
		h.clk.Advance(1000 * time.Hour)
		ann.patch(at, map[string]any{"name": "Never"}).wantError(http.StatusLocked, errs.Locked)
	})
}

func TestDirty(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		if list := ann.get("/v2/workspaces?dirty=true").want(http.StatusOK); list.text("0.dirty") != "true" {
			t.Errorf("list: %s", list.body)
		}
		h.pushed(at)
		if read := ann.get(at); read.text("dirty") != "false" {
			t.Errorf("after a push: %s", read.body)
		}
		for name, edit := range map[string]func() *answer{
			"an automation": func() *answer { return ann.put(at+"/automations/a", map[string]any{"name": "a", "do": []any{}}) },
			"a page":        func() *answer { return ann.put(at+"/pages/p", map[string]any{"name": "p"}) },
			"the settings":  func() *answer { return ann.patch(at, map[string]any{"description": "x"}) },
			"the config":    func() *answer { return ann.patch(at+"/config", map[string]any{"value": map[string]any{"a": 1}}) },
			"the security": func() *answer {
				return ann.put(at+"/security", map[string]any{"authorizations": map[string]any{"roles": map[string]any{"editor": map[string]any{}, "tester": map[string]any{}}}})
			},
		} {
			h.pushed(at)
			if answer := edit(); answer.status >= http.StatusBadRequest {
				t.Fatalf("%s: %d %s", name, answer.status, answer.body)
			}
			if read := ann.get(at); read.text("dirty") != "true" {
				t.Errorf("%s does not make the workspace dirty", name)
			}
		}
		h.pushed(at)
		ann.patch(at+"/security/secrets", map[string]any{"token": map[string]any{"value": "x"}}).want(http.StatusOK)
		if read := ann.get(at); read.text("dirty") != "false" {
			t.Error("a secret is no content")
		}
	})
}

func TestBin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		id := ann.get(at).text("id")
		slug := ann.get(at).text("slug")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		one := at + "/automations/hello"
		ann.text(http.MethodPut, one, commented).want(http.StatusCreated)
		bob.delete(at).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.delete(at).want(http.StatusOK)
		for _, c := range []*caller{ann, bob} {
			c.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			c.get(one).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			if list := c.get("/v2/workspaces").want(http.StatusOK); list.body.String() != "[]\n" {
				t.Errorf("list: %s", list.body)
			}
		}
		if bin := ann.get("/v2/workspaces/bin").want(http.StatusOK); bin.text("0.id") != id || bin.text("0.slug") != slug {
			t.Errorf("bin: %s", bin.body)
		}
		if bin := bob.get("/v2/workspaces/bin").want(http.StatusOK); bin.body.String() != "[]\n" {
			t.Errorf("bin of another: %s", bin.body)
		}
		bob.post(at+"/restore", nil).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		other := bob.post("/v2/workspaces", map[string]any{"name": "Other", "slug": slug}).want(http.StatusCreated)
		if other.text("id") == id {
			t.Error("an id was used again")
		}
		ann.post(at+"/restore", nil).wantError(http.StatusConflict, errs.AlreadyExists)
		ann.post(at+"/restore", map[string]any{"slug": "mine-again"}).want(http.StatusOK)
		if got := ann.yaml(one); got != commented {
			t.Errorf("restored %q", got)
		}
		bob.get(at).want(http.StatusOK) // it is shared as it was
		ann.delete(at).want(http.StatusOK)
		h.clk.Advance(h.deps.BinAge + time.Hour)
		h.tidy()
		ann.post(at+"/restore", nil).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		live := ann.workspace("Live")
		ann.post(live+"/restore", nil).wantError(http.StatusNotFound, errs.NotFound)
	})
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		ann.patch(at, map[string]any{"labels": []string{"production:eu", "kept"}}).want(http.StatusOK)
		ann.text(http.MethodPut, at+"/automations/hello", commented).want(http.StatusCreated)
		bob.post(at+"/versions/current/duplicate", nil).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		made := ann.post(at+"/versions/current/duplicate", nil).want(http.StatusCreated)
		if made.text("name") != "Mine - Copie" || made.text("labels.0") != "kept" || made.at("labels.1") != nil || made.text("slug") == ann.get(at).text("slug") {
			t.Errorf("made: %s", made.body)
		}
		copied := "/v2/workspaces/" + made.text("id")
		if got := ann.yaml(copied + "/automations/hello"); got != commented {
			t.Errorf("copied %q", got)
		}
		if event := h.payload(copied, "workspaces.duplicated"); event.text("fromWorkspace.name") != "Mine" {
			t.Errorf("event: %s", event.body)
		}
		ann.post(at+"/versions/none/duplicate", nil).wantError(http.StatusNotFound, errs.NotFound)
	})
}

// What names the original, or is where it is pushed to and served from, stays with it.
func TestWhatIsNotDuplicated(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		const kept = "# kept\nregisterWorkspace: true\n"
		at := ann.bring(newImport, pack("index.yml", "name: Mine\nid: foreign\ncustomDomains: [shop.example.test]\n"+
			"repositories: {main: {type: git, config: {url: 'https://git.example.test/x.git'}}}\nplatformRepositories: {p: {type: git}}\n"+kept)).made()
		made := ann.post(at+"/versions/current/duplicate", nil).want(http.StatusCreated)
		index := ann.yaml("/v2/workspaces/" + made.text("id"))
		for _, key := range []string{"id: foreign", "customDomains", "shop.example.test", "repositories", "platformRepositories", "git"} {
			if strings.Contains(index, key) {
				t.Errorf("%s was duplicated:\n%s", key, index)
			}
		}
		if !strings.Contains(index, kept) {
			t.Errorf("too much is gone:\n%s", index)
		}
	})
}

func TestSuspension(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.put(at+"/suspension", map[string]any{"reason": "x"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		root := h.superAdmin()
		root.put(at+"/suspension", map[string]any{"reason": "unpaid"}).want(http.StatusOK)
		if read := ann.get(at); read.text("suspended.reason") != "unpaid" {
			t.Errorf("workspace: %s", read.body)
		}
		if event := h.payload(at, "workspaces.suspended"); event.text("suspended") != "true" || event.text("reason") != "unpaid" {
			t.Errorf("event: %s", event.body)
		}
		root.delete(at + "/suspension").want(http.StatusOK)
		if read := ann.get(at); read.at("suspended") != nil {
			t.Errorf("workspace: %s", read.body)
		}
	})
}
