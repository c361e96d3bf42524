package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// Whoever names a workspace by its slug learns no more than by its id.
func TestWorkspacesByTheirSlug(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, eve, root := h.user("ann"), h.user("eve"), h.superAdmin()
		at := ann.workspace("Mine")
		slug := ann.get(at).text("slug")
		named := "/v2/workspaces/slug:" + slug
		if read := ann.get(named).want(http.StatusOK); "/v2/workspaces/"+read.text("id") != at {
			t.Errorf("read %s", read.body)
		}
		ann.patch(named, map[string]any{"description": "By its slug"}).want(http.StatusOK)
		for _, path := range []string{"", "/security", "/security/roles", "/security/apikeys", "/permissions"} {
			ann.get(named + path).want(http.StatusOK)
			there := eve.get(named+path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			absent := eve.get("/v2/workspaces/slug:no-such"+path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			if got := strings.ReplaceAll(there.body.String(), slug, "no-such"); got != absent.body.String() {
				t.Errorf("%s: a stranger can tell %s from %s", path, there.body, absent.body)
			}
		}
		root.get("/v2/workspaces/slug:no-such").wantError(http.StatusNotFound, errs.NotFound)
		ann.get("/v2/workspaces/"+slug).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied) // a bare slug is not a name
		if gone := ann.delete(named).want(http.StatusOK); "/v2/workspaces/"+gone.text("id") != at {
			t.Errorf("deleted %s", gone.body)
		}
	})
}

func TestWhoMayCreate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.user("ann").workspace("Mine")
		h.user("sa:org:robot").workspace("A robot's")
		body := map[string]any{"name": "Mine"}
		h.visitor().post("/v2/workspaces", body).wantError(http.StatusForbidden, errs.InsufficientScope)
		bold := h.visitor()
		bold.who.Scopes = access.Scopes()
		bold.post("/v2/workspaces", body).wantError(http.StatusForbidden, errs.PermissionDenied)
		h.as(access.Principal{}).post("/v2/workspaces", body).wantError(http.StatusUnauthorized, errs.MissingToken)
		h.as(access.Principal{Kind: access.Internal}).post("/v2/workspaces", body).wantError(http.StatusForbidden, errs.PermissionDenied)
	})
}

// What rules hide is hidden before pages are cut and workspaces are counted.
func TestListsShowWhatMayBeRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		hidden := rule("editor", "read", "workspaces")
		hidden["inverted"], hidden["conditions"] = true, map[string]any{"labels": map[string]any{"$in": []string{"hidden"}}}
		for i := range 6 {
			at := ann.workspace(fmt.Sprintf("Number %d", i))
			ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
			ann.put(at+"/security", document(map[string]any{"editor": map[string]any{}}, rule("editor", "read", "workspaces"), hidden)).want(http.StatusOK)
			if i%2 == 0 {
				ann.patch(at, map[string]any{"labels": []string{"hidden"}}).want(http.StatusOK)
				bob.get(at).wantError(http.StatusForbidden, errs.PermissionDenied)
			}
		}
		h.user("eve").workspace("Somebody else's")
		var names []string
		for page := range 2 {
			list := bob.get(fmt.Sprintf("/v2/workspaces?sort=name&limit=2&page=%d", page)).want(http.StatusOK)
			if list.header.Get("X-Total-Count") != "3" {
				t.Errorf("total: %s", list.header.Get("X-Total-Count"))
			}
			for _, item := range list.at("").([]any) {
				names = append(names, item.(map[string]any)["name"].(string))
			}
		}
		if got := fmt.Sprint(names); got != "[Number 1 Number 3 Number 5]" {
			t.Errorf("bob's pages: %s", got)
		}
		if all := h.superAdmin().get("/v2/workspaces").want(http.StatusOK).header.Get("X-Total-Count"); all != "8" { // and the platform workspace
			t.Errorf("a super admin sees %s", all)
		}
		if mine := ann.get("/v2/workspaces?search=number").want(http.StatusOK).header.Get("X-Total-Count"); mine != "6" {
			t.Errorf("the owner sees %s", mine)
		}
	})
}

// B-MAS-01: nothing but what may be set can be set.
func TestNothingElseCanBeSet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		before := ann.get(at).body.String()
		for _, field := range []string{
			"id", "dirty", "lastPush", "lastPull", "ownerId", "workspaceId", "createdAt", "createdBy", "roles", "locked", "_id",
			"subjectId", "conditions", "isSuperAdmin", "permissions", "security",
		} {
			ann.patch(at, map[string]any{field: "x"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
			ann.post("/v2/workspaces", map[string]any{"name": "New", field: "x"}).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		if after := ann.get(at).body.String(); after != before {
			t.Errorf("something changed: %s", after)
		}
	})
}

// A token does what it was made for, whatever its account may do.
func TestScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.who.Scopes = []string{string(access.WorkspacesRead)}
		ann.get(at).want(http.StatusOK)
		ann.get(at + "/security").want(http.StatusOK)
		ann.get(at + "/permissions").want(http.StatusOK)
		for _, refused := range []*answer{
			ann.patch(at, map[string]any{"name": "Other"}),
			ann.put(at+"/security", document(nil)),
			ann.post(at+"/security/apikeys", key("x", "read", "files")),
			ann.share(at, "ann", map[string]any{"role": "owner"}),
			ann.delete(at + "/permissions/ann"),
			ann.delete(at),
		} {
			refused.wantError(http.StatusForbidden, errs.InsufficientScope)
		}
	})
}

// The platform workspace is the super admins', until they share it.
func TestThePlatformWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, root := h.user("ann"), h.superAdmin()
		const platform = "/v2/workspaces/platform"
		ann.get(platform).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		if list := root.get(platform + "/permissions").want(http.StatusOK); list.text("result.0") != "" {
			t.Errorf("shared with: %s", list.body)
		}
		root.share(platform, "ann", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.get(platform).want(http.StatusOK)
		root.delete(platform + "/permissions/ann").want(http.StatusOK)
		ann.get(platform).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		root.delete(platform).wantError(http.StatusForbidden, errs.PermissionDenied)
	})
}

// A new workspace inherits nothing of a deleted one with the same slug.
func TestNothingIsInherited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		body := map[string]any{"name": "Reborn", "slug": "reborn"}
		at := "/v2/workspaces/" + ann.post("/v2/workspaces", body).want(http.StatusCreated).text("id")
		ann.share(at, "bob", map[string]any{"role": "owner"}).want(http.StatusOK)
		made := ann.post(at+"/security/apikeys", key("x", "read", "workspaces")).want(http.StatusCreated)
		ann.delete(at).want(http.StatusOK)
		eve.post("/v2/workspaces", body).want(http.StatusCreated)
		for _, c := range []*caller{ann, bob} {
			c.get("/v2/workspaces/slug:reborn").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			c.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		}
		if _, err := h.keys.Find(t.Context(), h.db, made.text("apiKey")); errs.CodeOf(err) != errs.InvalidCredentials {
			t.Errorf("the key of the deleted workspace: %v", err)
		}
	})
}
