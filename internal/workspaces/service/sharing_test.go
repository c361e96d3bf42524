package service_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"atelier/internal/access"
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

// page adds a page to the workspace at an address, and gives its own address and the one of its permissions.
func (c *caller) page(at string, page map[string]any) (address, permissions string) {
	c.house.t.Helper()
	made := c.post(at+"/pages", page).want(http.StatusCreated)
	return at + "/pages/" + made.text("slug"), "/v2/pages/" + made.text("id") + "/permissions"
}

// public is what makes a page readable for everybody.
func public() map[string]any {
	return map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true}}}
}

// to is the body that shares something with a user.
func to(userID string, permissions map[string]any) map[string]any {
	return map[string]any{"target": map[string]any{"id": userID}, "permissions": permissions}
}

func TestSharePages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.workspace("Mine")
		one, sharing := ann.page(at, map[string]any{"name": "One"})
		other, _ := ann.page(at, map[string]any{"name": "Other"})
		bob.get(one).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		bob.get(at+"/pages").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)

		shared := ann.post(sharing, to("bob", map[string]any{"policies": map[string]any{"read": true}})).want(http.StatusOK)
		if shared.text("target.displayName") != "Name of bob" || shared.text("permissions.policies.read") != "true" {
			t.Errorf("shared: %s", shared.body)
		}
		bob.get(one).want(http.StatusOK)
		if list := bob.get(at + "/pages").want(http.StatusOK); list.text("0.slug") != "One" || list.at("1") != nil || list.header.Get("X-Total-Count") != "1" {
			t.Errorf("somebody with one page lists: %s", list.body)
		}
		for _, refused := range []*answer{
			bob.get(other), bob.get(at + "/pages/none"), bob.get(at), bob.get(sharing), bob.delete(sharing + "/bob"),
			bob.post(sharing, to("eve", map[string]any{"policies": map[string]any{"read": true}})),
			bob.put(one, map[string]any{"name": "Bob's"}),
		} {
			refused.wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}

		ann.post(sharing, to("bob", map[string]any{"policies": map[string]any{"read": true, "update": true, "manage_permissions": true}})).want(http.StatusOK)
		bob.patch(one, map[string]any{"description": "Bob's"}).want(http.StatusOK)
		bob.post(sharing, to("eve", map[string]any{"policies": map[string]any{"read": true}})).want(http.StatusOK)
		eve.get(one).want(http.StatusOK)
		bob.post(sharing, to("eve", map[string]any{"role": "owner"})).wantError(http.StatusForbidden, errs.PermissionDenied)

		list := bob.get(sharing).want(http.StatusOK)
		if entries, ok := list.at("result").([]any); !ok || len(entries) != 2 {
			t.Errorf("permissions: %s", list.body)
		}
		if gone := ann.delete(sharing + "/bob").want(http.StatusOK); gone.text("id") != "bob" {
			t.Errorf("deleted: %s", gone.body)
		}
		ann.delete(sharing+"/bob").wantError(http.StatusNotFound, errs.NotFound)
		bob.get(one).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestAPublicPageNeedsNoCredential(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, nobody := h.user("ann"), h.as(access.Principal{})
		at := ann.workspace("Mine")
		open, sharing := ann.page(at, map[string]any{"name": "Open"})
		closed, _ := ann.page(at, map[string]any{"name": "Closed"})
		nobody.get(open).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.get(at+"/pages").wantError(http.StatusUnauthorized, errs.MissingToken)

		if shared := ann.post(sharing, public()).want(http.StatusOK); shared.text("target.id") != "*" || shared.text("target.displayName") != "Public" {
			t.Errorf("public: %s", shared.body)
		}
		for _, c := range []*caller{nobody, h.visitor(), h.user("eve")} {
			c.get(open).want(http.StatusOK)
			if list := c.get(at + "/pages").want(http.StatusOK); list.text("0.slug") != "Open" || list.at("1") != nil {
				t.Errorf("%s lists: %s", c.who.Key(), list.body)
			}
			if got := c.get(closed); got.status == http.StatusOK {
				t.Errorf("%s reads what is not public", c.who.Key())
			}
		}
		nobody.get(closed).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.get(at+"/pages/none").wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.get(at).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.get(sharing).wantError(http.StatusUnauthorized, errs.MissingToken)
		nobody.put(open, map[string]any{"name": "Mine now"}).wantError(http.StatusUnauthorized, errs.MissingToken)

		ann.delete(sharing + "/*").want(http.StatusOK)
		nobody.get(open).wantError(http.StatusUnauthorized, errs.MissingToken)
	})
}

// Whoever has no business there learns nothing: not whether the page exists, and not where.
func TestPagesOfOthersAreNotTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at, elsewhere := ann.workspace("Mine"), bob.workspace("Bob's")
		_, sharing := ann.page(at, map[string]any{"name": "One"})
		secret := bob.post(elsewhere+"/security/apikeys", map[string]any{"name": "k", "rules": []any{map[string]any{"action": "manage", "subject": "pages"}}}).want(http.StatusCreated).text("apiKey")
		known, unknown := sharing, "/v2/pages/nosuch7/permissions"
		for _, c := range []*caller{bob, h.visitor(), h.key(secret)} {
			for _, call := range []func(path string) *answer{
				c.get,
				func(path string) *answer { return c.post(path, public()) },
				func(path string) *answer { return c.delete(path + "/ann") },
			} {
				first, second := call(known), call(unknown)
				same := strings.ReplaceAll(first.body.String(), strings.Split(known, "/")[3], "nosuch7")
				if first.status != second.status || same != second.body.String() || first.status < http.StatusUnauthorized || first.status > http.StatusForbidden {
					t.Errorf("%s\n%d %s\n%d %s", first.what, first.status, first.body, second.status, second.body)
				}
				if contains(first.body.String(), strings.TrimPrefix(at, "/v2/workspaces/")) {
					t.Errorf("the workspace of the page is told: %s", first.body)
				}
			}
		}
		// An id of a workspace is not one of a page, also where the caller owns the workspace.
		bob.get("/v2/pages/"+strings.TrimPrefix(elsewhere, "/v2/workspaces/")+"/permissions").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.superAdmin().get(unknown).wantError(http.StatusNotFound, errs.NotFound)
		h.superAdmin().get(known).want(http.StatusOK)
	})
}

func TestSharingOfPagesIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		h.user("bob")
		at := ann.workspace("Mine")
		_, sharing := ann.page(at, map[string]any{"name": "One"})
		ann.post(sharing, to("bob", map[string]any{"role": "editor"})).want(http.StatusOK)
		ann.post(sharing, to("bob", map[string]any{"policies": map[string]any{"read": true}})).want(http.StatusOK)
		event := h.payload(at, "workspaces.pages.permissions.shared")
		if event.text("actor.userId") != "ann" || event.text("target.id") != "bob" || event.text("subjectId") != strings.Split(sharing, "/")[3] ||
			event.text("permissions.policies.read") != "true" || event.text("changes.before.role") != "editor" {
			t.Errorf("shared: %s", event.body)
		}
		ann.delete(sharing + "/bob").want(http.StatusOK)
		event = h.payload(at, "workspaces.pages.permissions.deleted")
		if event.text("target.id") != "bob" || event.text("changes.before.policies.read") != "true" || event.at("changes.after") != nil {
			t.Errorf("deleted: %s", event.body)
		}
		if got := len(h.events(at, "workspaces.permissions.shared")); got != 0 {
			t.Errorf("%d sharings of a page are told as those of the workspace", got)
		}
	})
}

// What was shared goes with the page, follows it under another slug, and waits with the workspace in the bin.
func TestSharingLivesAsLongAsThePage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		one, sharing := ann.page(at, map[string]any{"name": "One"})
		ann.post(sharing, to("bob", map[string]any{"policies": map[string]any{"read": true}})).want(http.StatusOK)
		ann.patch(one, map[string]any{"slug": "renamed"}).want(http.StatusOK)
		bob.get(at + "/pages/renamed").want(http.StatusOK)
		ann.get(sharing).want(http.StatusOK)

		ann.delete(at).want(http.StatusOK)
		bob.get(at+"/pages/renamed").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.get(sharing).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.post(at+"/restore", map[string]any{}).want(http.StatusOK)
		bob.get(at + "/pages/renamed").want(http.StatusOK)

		ann.delete(at + "/pages/renamed").want(http.StatusOK)
		ann.get(sharing).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		again, _ := ann.page(at, map[string]any{"name": "Again", "slug": "renamed"})
		bob.get(again).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestSharingOfPagesThatIsNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		h.user("bob")
		at := ann.workspace("Mine")
		_, sharing := ann.page(at, map[string]any{"name": "One"})
		readable := map[string]any{"policies": map[string]any{"read": true}}
		for field, body := range map[string]map[string]any{
			"target":                   {"target": map[string]any{"id": "bob", "public": true}, "permissions": readable},
			"target.email":             {"target": map[string]any{"email": "bob@example.test"}, "permissions": readable},
			"target.role":              {"target": map[string]any{"role": "king"}, "permissions": readable},
			"permissions.role":         {"target": map[string]any{"public": true}, "permissions": map[string]any{"role": "owner"}},
			"permissions":              {"target": map[string]any{"id": "bob"}, "permissions": map[string]any{}},
			"permissions.policies.fly": {"target": map[string]any{"id": "bob"}, "permissions": map[string]any{"policies": map[string]any{"fly": true}}},
			"workspaceId":              {"target": map[string]any{"id": "bob"}, "permissions": readable, "workspaceId": "other"},
		} {
			ann.post(sharing, body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		ann.post(sharing, to("nobody-knows", readable)).wantError(http.StatusNotFound, errs.NotFound)
		if got := len(h.events(at, "workspaces.pages.permissions.shared")); got != 0 {
			t.Errorf("%d refused sharings are told as events", got)
		}
	})
}

func TestRulesKnowWhichPagesArePublic(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		open, sharing := ann.page(at, map[string]any{"name": "Open"})
		closed, _ := ann.page(at, map[string]any{"name": "Closed"})
		ann.put(at+"/security", map[string]any{"authorizations": map[string]any{
			"roles": map[string]any{"guest": map[string]any{}},
			"rules": []any{
				map[string]any{"role": "guest", "action": "read", "subject": []any{"workspaces", "pages"}},
				map[string]any{"role": "guest", "action": "update", "subject": "pages", "conditions": map[string]any{"public": true}},
			},
		}}).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "guest"}).want(http.StatusOK)
		change := map[string]any{"description": "Bob's"}
		bob.patch(open, change).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.post(sharing, public()).want(http.StatusOK)
		bob.patch(open, change).want(http.StatusOK)
		bob.patch(closed, change).wantError(http.StatusForbidden, errs.PermissionDenied)
	})
}
