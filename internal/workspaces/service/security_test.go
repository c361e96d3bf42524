package service_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"atelier/internal/errs"
)

// document is a security document with roles and rules, as JSON.
func document(roles map[string]any, rules ...map[string]any) map[string]any {
	return map[string]any{"authorizations": map[string]any{"roles": roles, "rules": rules}}
}

func rule(role, action, subject any) map[string]any {
	r := map[string]any{"action": action, "subject": subject}
	if role != nil {
		r["role"] = role
	}
	return r
}

func TestNewWorkspacesHaveSecurity(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		read := ann.get(at + "/security").want(http.StatusOK)
		if read.at("authorizations.roles.editor") == nil || read.text("authorizations.rules.0.role") != "editor" || read.header.Get("ETag") != `"1"` {
			t.Errorf("the default document: %v %s", read.header, read.body)
		}
		if h.payload(at, "workspaces.security.updated").at("security.authorizations.roles.editor") == nil {
			t.Error("its event does not show it")
		}
		bob.get(at+"/security").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		bob.get(at+"/security/roles").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		bob.put(at+"/security", document(nil)).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestReplaceSecurity(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		rules := []map[string]any{rule("reader", "read", []string{"workspaces", "events"}), rule([]string{"reader"}, "create", "events")}
		doc := document(map[string]any{"reader": map[string]any{"description": "Looks on"}, "bot": map[string]any{"auth": map[string]any{"apiKey": map[string]any{"value": "mine"}}}}, rules...)
		changed := ann.with("If-Match", `"1"`).put(at+"/security", doc).want(http.StatusOK)
		if changed.header.Get("ETag") != `"2"` || changed.text("authorizations.rules.0.role") != "reader" || changed.text("authorizations.rules.1.role.0") != "reader" {
			t.Errorf("what was written is not what came back: %v %s", changed.header, changed.body)
		}
		ann.with("If-Match", `"1"`).put(at+"/security", doc).wantError(http.StatusPreconditionFailed, errs.Conflict)
		if again := ann.get(at + "/security").want(http.StatusOK); again.body.String() != changed.body.String() {
			t.Errorf("read %s, written %s", again.body, changed.body)
		}
		event := h.payload(at, "workspaces.security.updated")
		if event.text("actor.userId") != "ann" || event.text("target.id") == "" || event.at("changes.before.authorizations.roles.editor") == nil ||
			event.text("changes.after.authorizations.roles.reader.description") != "Looks on" || event.at("security.authorizations.roles.reader") == nil {
			t.Errorf("the event: %s", event.body)
		}
		roles := ann.get(at + "/security/roles").want(http.StatusOK)
		if roles.body.String() != `[{"name":"owner"},{"name":"editor"},{"name":"reader","description":"Looks on"}]`+"\n" {
			t.Errorf("roles: %s", roles.body)
		}
		if empty := ann.put(at+"/security", `{}`).want(http.StatusOK); empty.body.String() != "{}\n" {
			t.Errorf("an empty document: %s", empty.body)
		}
	})
}

func TestSecurityThatIsNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		conditions := func(c map[string]any) map[string]any {
			r := rule(nil, "read", "events")
			r["conditions"] = c
			return r
		}
		for field, doc := range map[string]any{
			"authorizations.rules[0].subject": document(nil, rule(nil, "read", "planets")),
			"authorizations.rules[1].role":    document(nil, rule(nil, "read", "events"), rule("stranger", "read", "events")),
			"authorizations.rules[0].role":    document(nil, rule("owner", "read", "events")),
			"authorizations.roles.owner":      document(map[string]any{"owner": map[string]any{}}),
			"authorizations.rules[0].when":    document(nil, map[string]any{"action": "read", "subject": "events", "when": "now"}),
			"authorizations.roles.x.auth.basic": document(map[string]any{"x": map[string]any{"auth": map[string]any{
				"basic": map[string]any{"username": "a", "password": "b"},
			}}}),
			"authorizations.rules[0].conditions.type.$where": document(nil, conditions(map[string]any{"type": map[string]any{"$where": "1"}})),
			"authorizations.rules[0].conditions.type.$regex": document(nil, conditions(map[string]any{"type": map[string]any{"$regex": "(?=a)"}})),
			"authorizations.rules[0].conditions.serial":      document(nil, conditions(map[string]any{"serial": 1})),
			"authorizations.rules[0].action":                 document(nil, rule(nil, "", "events")),
			"roles":                                          map[string]any{"roles": map[string]any{}},
			"authorizations.rules[0].inverted":               document(nil, map[string]any{"action": "read", "subject": "events", "inverted": "yes"}),
			"authorizations.rules[0].fields[0]":              document(nil, map[string]any{"action": "read", "subject": "events", "fields": []any{1}}),
			"authorizations.roles.a/b":                       document(map[string]any{"a/b": map[string]any{}}),
		} {
			ann.put(at+"/security", doc).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(field)
		}
		ann.put(at+"/security", `{"authorizations":{},"authorizations":{}}`).wantError(http.StatusBadRequest, errs.InvalidRequest)
		if got := ann.get(at + "/security").header.Get("ETag"); got != `"1"` {
			t.Errorf("a refused document made revision %s", got)
		}
	})
}

func TestNobodyLocksThemselvesOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, root := h.user("ann"), h.superAdmin()
		at := ann.workspace("Mine")
		deny := rule(nil, "manage_security", "workspaces")
		deny["inverted"] = true
		lockout := document(nil, deny)
		refused := ann.put(at+"/security", lockout).wantError(http.StatusConflict, errs.Conflict)
		if refused.text("details.reason") != "lockout" {
			t.Errorf("why: %s", refused.body)
		}
		if len(h.events(at, "workspaces.security.updated")) != 1 {
			t.Error("a refused change is told as an event")
		}
		for _, action := range []string{"manage_security", "manage_permissions", "read", "update", "manage"} {
			deny["action"] = action
			for _, who := range []*caller{root, ann} { // a super admin cannot be locked out, but owners can
				if refused := who.put(at+"/security", lockout).wantError(http.StatusConflict, errs.Conflict); refused.text("details.reason") != "lockout" {
					t.Errorf("why: %s", refused.body)
				}
			}
		}
		deny["action"], deny["conditions"] = "update", map[string]any{"createdBy": "${user.id}"} // those who made it
		root.put(at+"/security", lockout).wantError(http.StatusConflict, errs.Conflict)
		deny["action"], deny["conditions"] = "delete", nil
		ann.put(at+"/security", lockout).want(http.StatusOK)
	})
}

// A role that manages the security gives nobody, also not itself, more than it has.
func TestNobodyGrantsWhatTheyDoNotHold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, max := h.user("ann"), h.user("max")
		at := ann.workspace("Mine")
		guards := rule("guard", []string{"read", "manage_security", "manage_permissions"}, "workspaces")
		roles := map[string]any{"guard": map[string]any{}, "reader": map[string]any{}, "keeper": map[string]any{}}
		keeper := rule("keeper", "manage", "files")
		ann.put(at+"/security", document(roles, guards, keeper)).want(http.StatusOK)
		ann.share(at, "max", map[string]any{"role": "guard"}).want(http.StatusOK)
		for name, doc := range map[string]map[string]any{
			"for the own role": document(roles, guards, keeper, rule("guard", "delete", "workspaces")),
			"for everyone":     document(roles, guards, keeper, rule(nil, "read", "secrets")),
			"by manage":        document(roles, guards, keeper, rule("reader", "manage", "events")),
			"by sign-in": document(map[string]any{"guard": map[string]any{}, "reader": map[string]any{}, "keeper": map[string]any{
				"auth": map[string]any{"svc": map[string]any{}},
			}}, guards, keeper),
		} {
			t.Log(name)
			max.put(at+"/security", doc).wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		max.share(at, "max", map[string]any{"role": "owner"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		max.share(at, "max", map[string]any{"role": "keeper"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		max.share(at, "max", map[string]any{"policies": map[string]any{"update": true}}).wantError(http.StatusForbidden, errs.PermissionDenied)
		max.post(at+"/security/apikeys", key("x", "delete", "workspaces")).wantError(http.StatusForbidden, errs.PermissionDenied)
		max.put(at+"/security", document(roles, guards, keeper, rule("reader", "read", "workspaces"))).want(http.StatusOK)
	})
}

func TestRolesInUseStay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		h.user("bob")
		at := ann.workspace("Mine")
		ann.put(at+"/security", document(map[string]any{"reader": map[string]any{}}, rule("reader", "read", "workspaces"))).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "reader"}).want(http.StatusOK)
		if refused := ann.put(at+"/security", document(nil)).wantError(http.StatusConflict, errs.Conflict); refused.text("details.role") != "reader" {
			t.Errorf("why: %s", refused.body)
		}
		ann.delete(at + "/permissions/bob").want(http.StatusOK)
		ann.put(at+"/security", document(nil)).want(http.StatusOK)
	})
}

func TestRolesBySignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, inside, outside := h.user("ann"), h.user("inside"), h.user("outside")
		outside.who.AuthData["svc"]["email"] = "outside@elsewhere.test"
		at := ann.workspace("Mine")
		staff := map[string]any{"auth": map[string]any{"svc": map[string]any{
			"conditions": map[string]any{"authData.email": map[string]any{"$regex": `@example\.test$`}},
		}}}
		guests := map[string]any{"auth": map[string]any{"anonymous": map[string]any{}}}
		ann.put(at+"/security", document(map[string]any{"staff": staff, "guests": guests},
			rule("staff", []string{"read", "update"}, "workspaces"), rule("guests", "read", "workspaces"))).want(http.StatusOK)
		inside.get(at).want(http.StatusOK)
		inside.patch(at, map[string]any{"name": "Ours"}).want(http.StatusOK)
		outside.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.visitor().get(at).want(http.StatusOK)
		for who, want := range map[*caller]string{inside: "1", outside: "0", h.visitor(): "1"} {
			if got := who.get("/v2/workspaces").want(http.StatusOK).header.Get("X-Total-Count"); got != want {
				t.Errorf("%s lists %s workspaces, want %s", who.who.UserID, got, want)
			}
		}
	})
}

func TestTheReasonOfARuleIsTheMessage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		frozen := rule(nil, "update", "workspaces")
		frozen["inverted"], frozen["reason"] = true, "Frozen until Monday."
		frozen["conditions"] = map[string]any{"labels": "frozen"}
		ann.put(at+"/security", document(nil, frozen)).want(http.StatusOK)
		ann.patch(at, map[string]any{"labels": []string{"frozen"}}).want(http.StatusOK)
		refused := ann.patch(at, map[string]any{"name": "Other"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		id := ann.get(at).text("id")
		if refused.text("message") != "Frozen until Monday. "+id || refused.text("details.action") != "update" ||
			refused.text("details.subjectType") != "workspaces" || refused.text("details.id") != id || refused.text("details.slug") == "" {
			t.Errorf("the refusal: %s", refused.body)
		}
	})
}

func TestRulesAboutFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		some := rule("clerk", "update", "workspaces")
		some["fields"] = []string{"description"}
		ann.put(at+"/security", document(map[string]any{"clerk": map[string]any{}}, rule("clerk", "read", "workspaces"), some)).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "clerk"}).want(http.StatusOK)
		bob.patch(at, map[string]any{"description": "Said by a clerk"}).want(http.StatusOK)
		bob.patch(at, map[string]any{"description": "Again", "name": "Taken"}).wantError(http.StatusForbidden, errs.PermissionDenied)
		if read := ann.get(at); read.text("description") != "Said by a clerk" || read.text("name") != "Mine" {
			t.Errorf("something of a refused change was stored: %s", read.body)
		}
	})
}

// Numbers in conditions are kept as they were written.
func TestSecurityKeepsNumbers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		r := rule(nil, "read", "files")
		r["conditions"] = map[string]any{"size": map[string]any{"$lt": json.Number("9007199254740993")}}
		changed := ann.put(at+"/security", document(nil, r)).want(http.StatusOK)
		if want := `"size":{"$lt":9007199254740993}`; !contains(changed.body.String(), want) {
			t.Errorf("%s is not in %s", want, changed.body)
		}
	})
}
