package service_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// key is the body that makes a key with one rule.
func key(name string, action, subject any) map[string]any {
	return map[string]any{"name": name, "rules": []any{map[string]any{"action": action, "subject": subject}}}
}

func TestAPIKeyLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		keys := at + "/security/apikeys"
		body := key("CI", "read", []string{"workspaces", "files"})
		body["expiresAt"] = "2026-04-01T00:00:00Z"
		made := ann.post(keys, body).want(http.StatusCreated)
		secret := made.text("apiKey")
		if !strings.HasPrefix(secret, "ak_") || made.text("subjectType") != "workspaces" || made.text("subjectId") != id || made.text("name") != "CI" {
			t.Fatalf("made: %s", made.body)
		}
		if made.text("rules.0.action.0") != "read" || made.text("rules.0.subject") != "workspaces" || made.text("rules.0.conditions.id") != id ||
			made.text("rules.1.subject") != "files" || made.text("rules.1.conditions.workspaceId") != id {
			t.Errorf("rules: %s", made.body)
		}
		one := keys + "/" + made.text("id")
		if made.header.Get("Location") != one {
			t.Errorf("location: %s", made.header.Get("Location"))
		}
		for _, read := range []*answer{ann.get(keys), ann.get(one), ann.get(keys + "/" + secret)} {
			if read.want(http.StatusOK); contains(read.body.String(), secret) || !contains(read.body.String(), secret[:7]+"…"+secret[len(secret)-4:]) {
				t.Errorf("%s is not masked: %s", read.what, read.body)
			}
		}
		caller := h.key(secret)
		caller.get(at).want(http.StatusOK)
		caller.patch(at, map[string]any{"name": "Taken"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		caller.get(keys).wantError(http.StatusForbidden, errs.PermissionDenied)
		caller.post("/v2/workspaces", map[string]any{"name": "Other"}).wantError(http.StatusForbidden, errs.PermissionDenied)

		changed := ann.put(one, key("CI 2", []string{"read", "update"}, "workspaces")).want(http.StatusOK)
		if changed.text("rules.0.action.1") != "update" || changed.at("expiresAt") != nil || contains(changed.body.String(), secret) {
			t.Errorf("changed: %s", changed.body)
		}
		if renamed := caller.patch(at, map[string]any{"name": "By a key"}).want(http.StatusOK); renamed.text("updatedBy") != "key:"+made.text("id") {
			t.Errorf("changed by %s", renamed.text("updatedBy"))
		}
		gone := ann.delete(one).want(http.StatusOK)
		if gone.text("id") != made.text("id") || contains(gone.body.String(), secret) {
			t.Errorf("deleted: %s", gone.body)
		}
		ann.delete(one).wantError(http.StatusNotFound, errs.NotFound)
		ann.put(one, key("x", "read", "files")).wantError(http.StatusNotFound, errs.NotFound)
		caller.get(at).wantError(http.StatusUnauthorized, errs.InvalidCredentials) // at once, wherever it is remembered
		caller.get("/v2/workspaces").wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		for _, eventType := range []string{"apikeys.created", "apikeys.updated", "apikeys.deleted"} {
			event := h.payload(at, eventType)
			if event.text("id") != made.text("id") || event.text("actor.userId") != "ann" || event.text("subjectId") != id || contains(event.body.String(), secret) {
				t.Errorf("%s: %s", eventType, event.body)
			}
		}
		if event := h.payload(at, "apikeys.updated"); event.text("changes.before.name") != "CI" || event.text("changes.after.name") != "CI 2" || event.at("rules.0.conditions") == nil {
			t.Errorf("apikeys.updated: %s", event.body)
		}
	})
}

// B-KEY-01: what a key cannot be, and where it cannot go.
func TestAPIKeysThatAreNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		keys := at + "/security/apikeys"
		withRule := func(more map[string]any) map[string]any {
			r := map[string]any{"action": "read", "subject": "files"}
			maps.Copy(r, more)
			return map[string]any{"name": "x", "rules": []any{r}}
		}
		with := func(name string, value any) map[string]any {
			body := key("x", "read", "files")
			body[name] = value
			return body
		}
		for name, c := range map[string]struct {
			body  any
			field string
		}{
			"no rules":             {map[string]any{"name": "x", "rules": []any{}}, "rules"},
			"rules left out":       {map[string]any{"name": "x"}, "rules"},
			"every action":         {withRule(map[string]any{"action": "*"}), "rules[0].action"},
			"an unknown subject":   {withRule(map[string]any{"subject": "planets"}), "rules[0].subject"},
			"all subjects":         {withRule(map[string]any{"subject": "all"}), "rules[0].subject"},
			"its own conditions":   {withRule(map[string]any{"conditions": map[string]any{"workspaceId": "other"}}), "rules[0].conditions"},
			"a number":             {withRule(map[string]any{"action": 1}), "rules[0].action"},
			"nested actions":       {withRule(map[string]any{"action": []any{[]any{"read"}}}), "rules[0].action[0]"},
			"its own subject id":   {with("subjectId", "other"), "subjectId"},
			"its own subject type": {with("subjectType", "pages"), "subjectType"},
			"its own secret":       {with("apiKey", "ak_mine"), "apiKey"},
			"its own id":           {with("id", "mine"), "id"},
			"the past":             {with("expiresAt", "2020-01-01T00:00:00Z"), "expiresAt"},
			"no zone":              {with("expiresAt", "2027-01-01T00:00:00"), "expiresAt"},
			"an epoch":             {with("expiresAt", 1_900_000_000), "expiresAt"},
			"no name":              {key("", "read", "files"), "name"},
		} {
			t.Log(name)
			ann.post(keys, c.body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(c.field)
		}
		if list := ann.get(keys).want(http.StatusOK); list.body.String() != "[]\n" {
			t.Errorf("a refused key was made: %s", list.body)
		}
	})
}

func TestAPIKeysStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		made := ann.post(at+"/security/apikeys", key("x", []string{"read", "manage_permissions"}, "workspaces")).want(http.StatusCreated)
		caller := h.key(made.text("apiKey"))
		caller.get(at).want(http.StatusOK)
		there := caller.get(other).wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		absent := caller.get("/v2/workspaces/NoSuch0").wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		if there.text("message") != absent.text("message") {
			t.Errorf("%q against %q", there.text("message"), absent.text("message"))
		}
		ann.get(other+"/security/apikeys/"+made.text("id")).wantError(http.StatusNotFound, errs.NotFound)
		ann.delete(other+"/security/apikeys/"+made.text("id")).wantError(http.StatusNotFound, errs.NotFound)
		if list := caller.get("/v2/workspaces").want(http.StatusOK); list.header.Get("X-Total-Count") != "1" || list.text("0.name") != "Mine" {
			t.Errorf("the list of a key: %s", list.body)
		}
		ann.delete(at).want(http.StatusOK)
		caller.get(at).wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		if _, err := h.keys.Find(t.Context(), h.db, made.text("apiKey")+"x"); errs.CodeOf(err) != errs.InvalidCredentials {
			t.Errorf("a longer key: %v", err)
		}
	})
}

func TestAPIKeysThatDoNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		keys := ann.workspace("Mine") + "/security/apikeys"
		secret := func(name string, value any) (string, string) {
			body := key("x", "read", "workspaces")
			if name != "" {
				body[name] = value
			}
			made := ann.post(keys, body).want(http.StatusCreated)
			return made.text("apiKey"), made.text("id")
		}
		disabled, _ := secret("disabled", true)
		expiring, _ := secret("expiresAt", h.clk.Now().Add(time.Minute).Format(time.RFC3339))
		deleted, id := secret("", nil)
		if _, err := h.keys.Find(t.Context(), h.db, deleted); err != nil {
			t.Fatal(err)
		}
		ann.delete(keys + "/" + id).want(http.StatusOK)
		h.rememberedKeys(ann, keys)
		h.clk.Advance(time.Minute)
		for name, text := range map[string]string{"unknown": "ak_" + strings.Repeat("A", 43), "disabled": disabled, "expired": expiring, "deleted": deleted} {
			if _, err := h.keys.Find(t.Context(), h.db, text); errs.CodeOf(err) != errs.InvalidCredentials {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// rememberedKeys looks that a key which the gateway still remembers is refused as one that it does not know.
func (h *house) rememberedKeys(ann *caller, keys string) {
	h.t.Helper()
	at := strings.TrimSuffix(keys, "/security/apikeys")
	for _, spoil := range []map[string]any{{"disabled": true}, {"expiresAt": h.clk.Now().Add(2 * time.Second).Format(time.RFC3339)}} {
		made := ann.post(keys, key("x", "read", "workspaces")).want(http.StatusCreated)
		remembered := h.key(made.text("apiKey"))
		body := key("x", "read", "workspaces")
		maps.Copy(body, spoil)
		ann.put(keys+"/"+made.text("id"), body).want(http.StatusOK)
		h.clk.Advance(time.Second)
		remembered.get(at).wantError(http.StatusUnauthorized, errs.InvalidCredentials)
	}
}

// A token that ends, and a key, make no keys.
func TestAPIKeysByTokens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		keys := ann.workspace("Mine") + "/security/apikeys"
		made := ann.post(keys, key("x", []string{"read", "manage_permissions"}, "workspaces")).want(http.StatusCreated)
		token, narrow := ann.who, ann.who
		token.Credential, narrow.Scopes = access.ByAccessToken, []string{"workspaces:write", "workspaces:read"}
		for _, who := range []*caller{h.as(token), h.key(made.text("apiKey"))} {
			who.post(keys, key("y", "read", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
			who.put(keys+"/"+made.text("id"), key("y", "read", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		h.as(narrow).post(keys, key("y", "read", "events")).wantError(http.StatusForbidden, errs.InsufficientScope)
		h.as(narrow).post(keys, key("y", "read", "workspaces")).want(http.StatusCreated)
		h.key(made.text("apiKey")).get(keys).want(http.StatusOK)
	})
}

// B-KEY-04: an editor makes no keys, and nobody a key that can do more than they.
func TestAPIKeysOfEditors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		bob.post(at+"/security/apikeys", key("x", "read", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.share(at, "bob", map[string]any{"role": "editor", "policies": map[string]any{"manage_permissions": true}}).want(http.StatusOK)
		bob.post(at+"/security/apikeys", key("x", "delete", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.post(at+"/security/apikeys", key("x", "read", "secrets")).wantError(http.StatusForbidden, errs.PermissionDenied)
		made := bob.post(at+"/security/apikeys", key("x", []string{"read", "update"}, "workspaces")).want(http.StatusCreated)
		bob.put(at+"/security/apikeys/"+made.text("id"), key("x", "manage", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
		h.key(made.text("apiKey")).post(at+"/security/apikeys", key("y", "read", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
	})
}
