package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
)

func TestWorkspaceLife(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		created := admin.Post("/v2/workspaces", map[string]any{"name": "First", "slug": "first", "labels": []string{"team:a"}}).Want(http.StatusCreated)
		id := created.Text("id")
		if created.Header.Get("Location") != "/v2/workspaces/"+id || created.Header.Get("ETag") == "" {
			t.Errorf("headers of a creation: %v", created.Header)
		}
		admin.Post("/v2/workspaces", map[string]any{"name": "Second", "slug": "first"}).WantError(http.StatusConflict, "resource_already_exists")
		read := admin.Get("/v2/workspaces/" + id).Want(http.StatusOK)
		if read.Text("slug") != "first" || read.Text("labels.0") != "team:a" || read.Text("dirty") != "true" {
			t.Errorf("read: %s", read.Body)
		}
		if read.Text("createdAt") != created.Text("createdAt") {
			t.Errorf("made at %s, read as %s", created.Text("createdAt"), read.Text("createdAt"))
		}
		admin.Patch("/v2/workspaces/"+id, map[string]any{"labels": []string{"fine", "not fine"}}).
			WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("labels[1]")
		admin.With("If-Match", `"999"`).Patch("/v2/workspaces/"+id, map[string]any{"name": "Lost"}).WantError(http.StatusPreconditionFailed, "resource_conflict")
		changed := admin.With("If-Match", read.Header.Get("ETag")).Patch("/v2/workspaces/"+id, map[string]any{"name": "Renamed"}).Want(http.StatusOK)
		if changed.Text("name") != "Renamed" || changed.Header.Get("ETag") == read.Header.Get("ETag") {
			t.Errorf("change: %s", changed.Body)
		}
		if same := admin.Patch("/v2/workspaces/"+id, map[string]any{"name": "Renamed"}).Want(http.StatusOK); same.Header.Get("ETag") != changed.Header.Get("ETag") {
			t.Error("a change that changes nothing made a revision")
		}
		admin.Delete("/v2/workspaces/" + id).Want(http.StatusOK)
		admin.Get("/v2/workspaces/"+id).WantError(http.StatusNotFound, "resource_not_found")
		if types := eventTypes(admin, id); len(types) != 0 {
			t.Errorf("events of a deleted workspace are readable: %v", types)
		}
	})
}

func TestPlatformWorkspace(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin, visitor := it.Admin(), it.Visitor()
		admin.Get("/v2/workspaces/platform").Want(http.StatusOK)
		admin.Delete("/v2/workspaces/platform").WantError(http.StatusForbidden, "permission_denied")
		visitor.Get("/v2/workspaces/platform").WantError(http.StatusForbidden, "workspace_access_denied")
		it.Anyone().Get("/v2/workspaces/platform").WantError(http.StatusUnauthorized, "missing_token")
	})
}

// Outsiders cannot tell a workspace that exists from one that does not.
func TestOutsidersLearnNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		id := newWorkspace(t, it.Admin(), "Private")
		visitor := it.Visitor()
		for _, path := range []string{"", "/events"} {
			there := visitor.Get("/v2/workspaces/"+id+path).WantError(http.StatusForbidden, "workspace_access_denied")
			absent := visitor.Get("/v2/workspaces/NoSuch0"+path).WantError(http.StatusForbidden, "workspace_access_denied")
			if there.Text("message") != absent.Text("message") {
				t.Errorf("%s: %q against %q", path, there.Text("message"), absent.Text("message"))
			}
		}
		visitor.Patch("/v2/workspaces/"+id, map[string]any{"name": "Mine"}).WantError(http.StatusForbidden, "insufficient_scope")
		visitor.Delete("/v2/workspaces/"+id).WantError(http.StatusForbidden, "insufficient_scope")
		visitor.Post("/v2/workspaces", map[string]any{"name": "Mine"}).WantError(http.StatusForbidden, "insufficient_scope")
		if list := visitor.Get("/v2/workspaces").Want(http.StatusOK); list.Header.Get("X-Total-Count") != "0" {
			t.Errorf("a visitor's list: %s", list.Body)
		}
	})
}

func TestListPages(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		for i := range 5 {
			newWorkspace(t, admin, fmt.Sprintf("Page %d", i))
		}
		first := admin.Get("/v2/workspaces?search=page&sort=name&limit=2").Want(http.StatusOK)
		if first.Header.Get("X-Total-Count") != "5" || first.Text("0.name") != "Page 0" {
			t.Fatalf("first page: %v %s", first.Header, first.Body)
		}
		names := []string{first.Text("0.name"), first.Text("1.name")}
		for next := nextLink(first.Header); next != ""; {
			page := admin.Get(next).Want(http.StatusOK)
			for i := range page.At("").([]any) {
				names = append(names, page.Text(fmt.Sprintf("%d.name", i)))
			}
			next = nextLink(page.Header)
		}
		if got := fmt.Sprint(names); got != "[Page 0 Page 1 Page 2 Page 3 Page 4]" {
			t.Errorf("following the links gave %s", got)
		}
		it.Visitor().Get(nextLink(first.Header)).WantError(http.StatusBadRequest, "invalid_parameter")
		if second := admin.Get("/v2/workspaces?search=page&sort=name&limit=2&page=1").Want(http.StatusOK); second.Text("0.name") != "Page 2" {
			t.Errorf("page 1: %s", second.Body)
		}
	})
}

var nextPattern = regexp.MustCompile(`<([^>]+)>; rel="next"`)

func nextLink(h http.Header) string {
	if found := nextPattern.FindStringSubmatch(h.Get("Link")); found != nil {
		return found[1]
	}
	return ""
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin().With("Idempotency-Key", "order-1")
		body := map[string]any{"name": "Once"}
		first := admin.Post("/v2/workspaces", body).Want(http.StatusCreated)
		again := admin.Post("/v2/workspaces", body).Want(http.StatusCreated)
		if again.Text("id") != first.Text("id") || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the repeat gave %v %s", again.Header, again.Body)
		}
		admin.Post("/v2/workspaces", map[string]any{"name": "Other"}).WantError(http.StatusConflict, "resource_conflict")
		if list := it.Admin().Get("/v2/workspaces?search=once").Want(http.StatusOK); list.Header.Get("X-Total-Count") != "1" {
			t.Errorf("the repeat made a second workspace: %s", list.Body)
		}
	})
}
