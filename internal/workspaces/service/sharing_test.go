package service_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"atelier/internal/errs"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestShareWithUsersRolesAndThePublic(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.workspace("Mine")
		bob.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		shared := ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		if shared.text("target.id") != "bob" || shared.text("target.displayName") != "Name of bob" || shared.text("permissions.role") != "editor" {
			t.Errorf("shared: %s", shared.body)
		}
		bob.get(at).want(http.StatusOK)
		bob.patch(at, map[string]any{"description": "By an editor"}).want(http.StatusOK)
		bob.delete(at).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.get(at+"/permissions").wantError(http.StatusForbidden, errs.PermissionDenied)

		public := ann.post(at+"/permissions", map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true, "update": false}}}).want(http.StatusOK)
		if public.text("target.id") != "*" || public.text("target.displayName") != "Public" || public.text("permissions.policies.read") != "true" {
			t.Errorf("public: %s", public.body)
		}
		eve.get(at).want(http.StatusOK)
		eve.patch(at, map[string]any{"name": "Mine too"}).wantError(http.StatusForbidden, errs.PermissionDenied)

		role := ann.post(at+"/permissions", map[string]any{"target": map[string]any{"role": "editor"}, "permissions": map[string]any{"policies": map[string]any{"manage_permissions": true}}}).want(http.StatusOK)
		if role.text("target.id") != "role:editor" || role.text("target.displayName") != "Role: editor" {
			t.Errorf("role: %s", role.body)
		}
		list := bob.get(at + "/permissions").want(http.StatusOK)
		seen := map[string]bool{}
		for _, entry := range list.at("result").([]any) {
			seen[entry.(map[string]any)["target"].(map[string]any)["id"].(string)] = true
		}
		if len(seen) != 4 || !seen["ann"] || !seen["bob"] || !seen["*"] || !seen["role:editor"] {
			t.Errorf("list: %s", list.body)
		}

		ann.delete(at + "/permissions/role:editor").want(http.StatusOK)
		ann.delete(at + "/permissions/*").want(http.StatusOK)
		if gone := ann.delete(at + "/permissions/bob").want(http.StatusOK); gone.text("id") != "bob" {
			t.Errorf("deleted: %s", gone.body)
		}
		ann.delete(at+"/permissions/bob").wantError(http.StatusNotFound, errs.NotFound)
		bob.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		eve.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestSharingIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		h.user("bob")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		event := h.payload(at, "workspaces.permissions.shared")
		if event.text("actor.userId") != "ann" || event.text("target.id") != "bob" || event.text("subjectId") == "" ||
			event.text("permissions.policies.read") != "true" || event.text("changes.before.role") != "editor" || event.text("changes.after.policies.read") != "true" {
			t.Errorf("shared: %s", event.body)
		}
		ann.delete(at + "/permissions/bob").want(http.StatusOK)
		event = h.payload(at, "workspaces.permissions.deleted")
		if event.text("target.id") != "bob" || event.text("changes.before.policies.read") != "true" || event.at("changes.after") != nil {
			t.Errorf("deleted: %s", event.body)
		}
	})
}

func TestSharingThatIsNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		h.user("bob")
		at := ann.workspace("Mine")
		readable := map[string]any{"policies": map[string]any{"read": true}}
		body := func(target, permissions map[string]any) map[string]any {
			return map[string]any{"target": target, "permissions": permissions}
		}
		for name, c := range map[string]struct {
			body  map[string]any
			field string
		}{
			"no target":           {body(map[string]any{}, readable), "target"},
			"two targets":         {body(map[string]any{"id": "bob", "public": true}, readable), "target"},
			"an address":          {body(map[string]any{"email": "bob@example.test"}, readable), "target.email"},
			"an unknown role":     {body(map[string]any{"id": "bob"}, map[string]any{"role": "king"}), "permissions.role"},
			"role injection":      {body(map[string]any{"id": "bob"}, map[string]any{"role": "editor' OR 1=1--"}), "permissions.role"},
			"super admin":         {body(map[string]any{"id": "bob"}, map[string]any{"role": "superadmin"}), "permissions.role"},
			"an unknown target":   {body(map[string]any{"role": "king"}, readable), "target.role"},
			"a role for a role":   {body(map[string]any{"role": "editor"}, map[string]any{"role": "editor"}), "permissions.role"},
			"the public owns":     {body(map[string]any{"public": true}, map[string]any{"role": "owner"}), "permissions.role"},
			"nothing":             {body(map[string]any{"id": "bob"}, map[string]any{}), "permissions"},
			"an unknown policy":   {body(map[string]any{"id": "bob"}, map[string]any{"policies": map[string]any{"fly": true}}), "permissions.policies.fly"},
			"an unknown field":    {body(map[string]any{"id": "bob"}, map[string]any{"role": "editor", "conditions": map[string]any{}}), "permissions.conditions"},
			"another object's id": {map[string]any{"target": map[string]any{"id": "bob"}, "permissions": readable, "subjectId": "x"}, "subjectId"},
		} {
			t.Log(name)
			ann.post(at+"/permissions", c.body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(c.field)
		}
		ann.share(at, "nobody-knows", readable).wantError(http.StatusNotFound, errs.NotFound)
		if got := len(h.events(at, "workspaces.permissions.shared")); got != 0 {
			t.Errorf("%d refused sharings are told as events", got)
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		for _, refused := range []*answer{
			ann.delete(at + "/permissions/ann"),
			ann.share(at, "ann", map[string]any{"role": "editor"}),
			h.superAdmin().delete(at + "/permissions/ann"),
		} {
			refused.wantError(http.StatusConflict, errs.Conflict)
		}
		ann.share(at, "stranger", map[string]any{"role": "owner"}).wantError(http.StatusNotFound, errs.NotFound)
		ann.share(at, "bob", map[string]any{"role": "owner"}).want(http.StatusOK)

		var waiting sync.WaitGroup // each takes itself away: one of the two must stay
		codes := make(chan int, 2)
		for _, c := range []*caller{ann, bob} {
			waiting.Go(func() { codes <- c.delete(at + "/permissions/" + c.who.UserID).status })
		}
		waiting.Wait()
		if first, second := <-codes, <-codes; first+second != http.StatusOK+http.StatusConflict {
			t.Errorf("two owners leave at once: %d and %d", first, second)
		}
	})
}
