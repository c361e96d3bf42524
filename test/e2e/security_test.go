package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// member is somebody with an account.
type member struct {
	*apptest.Client

	id string
}

func newMember(t *testing.T, it installation, name string) member {
	t.Helper()
	c := signUp(t, it, name+"@example.test")
	return member{Client: c, id: c.Get("/v2/me").Want(http.StatusOK).Text("id")}
}

type object = map[string]any

func securityOf(roles object, rules ...object) object {
	return object{"authorizations": object{"roles": roles, "rules": rules}}
}

// Roles are given to people, come with their sign-in, and are explained; what a rule denies is said in its words.
func TestRolesAndRules(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		ada, bob := newMember(t, it, "ada"), newMember(t, it, "bob")
		id := newWorkspace(t, ada.Client, "Roles")
		at := "/v2/workspaces/" + id
		if ada.Get(at+"/security").Want(http.StatusOK).At("authorizations.roles.editor") == nil {
			t.Error("a new workspace has no default security")
		}
		bob.Get(at).WantError(http.StatusForbidden, "workspace_access_denied")
		shared := ada.Post(at+"/permissions", object{"target": object{"id": bob.id}, "permissions": object{"role": "editor"}}).Want(http.StatusOK)
		if shared.Text("target.displayName") != "Ada L" {
			t.Errorf("shared: %s", shared.Body)
		}
		bob.Patch(at, object{"description": "By an editor"}).Want(http.StatusOK)
		bob.Put(at+"/security", object{}).WantError(http.StatusForbidden, "permission_denied")
		ada.Put(at+"/security", securityOf(
			object{"staff": object{"auth": object{"svc": object{"conditions": object{"authData.email": object{"$regex": "^bob@"}}}}}},
			object{"role": "editor", "action": []string{"read", "update"}, "subject": "workspaces"},
			object{"role": "staff", "action": "update", "subject": "workspaces", "inverted": true, "reason": "Staff only look."},
		)).Want(http.StatusOK)
		refused := bob.Patch(at, object{"name": "Other"}).WantError(http.StatusForbidden, "permission_denied")
		if !strings.HasPrefix(refused.Text("message"), "Staff only look.") {
			t.Errorf("the refusal: %s", refused.Body)
		}
		question := object{"action": "update", "subject": "workspaces"}
		told := bob.Post(at+"/security/explain", question).Want(http.StatusOK)
		if told.Text("allowed") != "false" || told.Text("decided.index") != "1" || told.Text("reason") != "Staff only look." {
			t.Errorf("explained: %s", told.Body)
		}
		question["principal"] = object{"userId": bob.id}
		if about := ada.Post(at+"/security/explain", question).Want(http.StatusOK); about.Text("allowed") != "false" || about.Text("decided.index") != "1" {
			t.Errorf("explained to the owner: %s", about.Body)
		}
		ada.Delete("/v2/workspaces/slug:" + ada.Get(at).Text("slug") + "/permissions/" + bob.id).Want(http.StatusOK)
		ada.Put(at+"/security", object{}).Want(http.StatusOK)
		bob.Get(at).WantError(http.StatusForbidden, "workspace_access_denied")
		ada.Delete(at+"/permissions/"+ada.id).WantError(http.StatusConflict, "resource_conflict")
		if event := it.Admin().Get(at + "/events?types=workspaces.permissions.deleted").Want(http.StatusOK); event.Text("result.events.0.payload.target.id") != bob.id {
			t.Errorf("the event: %s", event.Body)
		}
	})
}

// What rules hide is missing from pages and totals alike, of workspaces and of events.
func TestListsFollowTheRules(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		ada, bob := newMember(t, it, "ada"), newMember(t, it, "bob")
		rules := []object{
			{"role": "editor", "action": "read", "subject": "workspaces"},
			{"role": "editor", "action": "read", "subject": "workspaces", "inverted": true, "conditions": object{"labels": "hidden"}},
			{"action": []string{"create", "read"}, "subject": "events", "conditions": object{"type": object{"$regex": "^note"}, "payload.public": true}},
		}
		var last string
		for i := range 4 {
			last = newWorkspace(t, ada.Client, fmt.Sprintf("List %d", i))
			at := "/v2/workspaces/" + last
			ada.Put(at+"/security", securityOf(object{"editor": object{}}, rules...)).Want(http.StatusOK)
			ada.Post(at+"/permissions", object{"target": object{"id": bob.id}, "permissions": object{"role": "editor"}}).Want(http.StatusOK)
			if i%2 == 1 {
				ada.Patch(at, object{"labels": []string{"hidden"}}).Want(http.StatusOK)
			}
		}
		list := bob.Get("/v2/workspaces?sort=name&limit=1&page=1").Want(http.StatusOK)
		if list.Header.Get("X-Total-Count") != "2" || list.Text("0.name") != "List 2" {
			t.Errorf("bob's second page: %v %s", list.Header, list.Body)
		}
		path, anyone := "/v2/workspaces/"+last+"/events", it.Anyone()
		note := func(public bool) object { return object{"type": "note", "payload": object{"public": public}} }
		anyone.Post(path, object{"events": []any{note(true), note(false)}}).WantError(http.StatusUnauthorized, "missing_token")
		for _, public := range []bool{true, false, true, false, true} {
			ada.Post(path, object{"events": []any{note(public)}}).Want(http.StatusOK)
		}
		anyone.Post(path, object{"events": []any{note(true)}}).Want(http.StatusOK)
		first := anyone.Get(path + "?limit=3").Want(http.StatusOK)
		if first.Header.Get("X-Total-Count") != "4" {
			t.Errorf("total: %v", first.Header)
		}
		second := anyone.Get(nextLink(first.Header)).Want(http.StatusOK)
		if second.Text("result.events.0.payload.public") != "true" || second.At("result.events.1") != nil {
			t.Errorf("second page: %s", second.Body)
		}
		it.Visitor().Get("/v2/workspaces/NoSuch0/events").WantError(http.StatusForbidden, "workspace_access_denied")
	})
}

// An API key does what its rules say, in its workspace, as long as it counts.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		ada := newMember(t, it, "ada")
		id, other := newWorkspace(t, ada.Client, "Keys"), newWorkspace(t, ada.Client, "Other")
		at := "/v2/workspaces/" + id
		keys := at + "/security/apiKeys" // either case
		made := ada.With("Idempotency-Key", "key-1").Post(keys, object{"name": "CI", "rules": []object{
			{"action": "read", "subject": "workspaces"}, {"action": []string{"create", "read"}, "subject": "events"},
		}}).Want(http.StatusCreated)
		if made.Text("rules.0.conditions.id") != id || made.Text("subjectId") != id || made.Text("rules.0.action.0") != "read" {
			t.Errorf("made: %s", made.Body)
		}
		secret := made.Text("apiKey")
		key := it.Anyone().With("X-Svc-Api-Key", secret)
		key.Get(at).Want(http.StatusOK)
		key.Get("/workspaces/" + id).Want(http.StatusOK)
		key.Patch(at, object{"name": "Taken"}).WantError(http.StatusForbidden, "permission_denied")
		key.Post(at+"/events", object{"events": []any{object{"type": "built", "payload": object{}}}}).Want(http.StatusOK)
		key.Get("/v2/workspaces/"+other).WantError(http.StatusUnauthorized, "invalid_credentials")
		key.Get("/v2/workspaces/"+other+"/events").WantError(http.StatusUnauthorized, "invalid_credentials")
		if list := key.Get("/v2/workspaces").Want(http.StatusOK); list.Header.Get("X-Total-Count") != "1" {
			t.Errorf("the list of a key: %s", list.Body)
		}
		key.Get("/v2/me").WantError(http.StatusForbidden, "permission_denied")
		ada.With("X-Svc-Api-Key", secret).Get(at).WantError(http.StatusBadRequest, "invalid_request")
		for _, bad := range []string{secret + "x", secret[:len(secret)-1], strings.ToUpper(secret), "ak_" + strings.Repeat("A", 43), "nonsense"} {
			it.Anyone().With("X-Svc-Api-Key", bad).Get(at).WantError(http.StatusUnauthorized, "invalid_credentials")
		}
		if list := ada.Get(keys).Want(http.StatusOK); strings.Contains(string(list.Body), secret) || list.Text("0.id") != made.Text("id") {
			t.Errorf("listed: %s", list.Body)
		}
		off := ada.Put(keys+"/"+made.Text("id"), object{"name": "CI", "disabled": true, "rules": []object{{"action": "read", "subject": "workspaces"}}}).Want(http.StatusOK)
		if off.Text("disabled") != "true" {
			t.Errorf("disabled: %s", off.Body)
		}
		refusedWithin(t, key, at)
		ada.Delete(keys + "/" + secret).Want(http.StatusOK)
		key.Get(at).WantError(http.StatusUnauthorized, "invalid_credentials")
		if feed := ada.Get(at + "/events?types=apikeys.created,apikeys.updated,apikeys.deleted").Want(http.StatusOK); feed.Header.Get("X-Total-Count") != "3" || strings.Contains(string(feed.Body), secret) {
			t.Errorf("events: %s", feed.Body)
		}
	})
}

// refusedWithin waits until a credential that was taken back is refused, which is soon.
func refusedWithin(t *testing.T, c *apptest.Client, path string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		got := c.Get(path)
		if got.Status == http.StatusUnauthorized {
			got.WantError(http.StatusUnauthorized, "invalid_credentials")
			return
		}
		if got.Status == http.StatusOK {
			t.Fatalf("a disabled key still reads: %s", got.Body) // its rights are gone at once, wherever it is remembered
		}
	}
	t.Error("a disabled key is still known")
}
