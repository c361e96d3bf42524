package service_test

import (
	"net/http"
	"testing"

	"atelier/internal/errs"
)

func question(action, subject string) map[string]any {
	return map[string]any{"action": action, "subject": subject}
}

func about(q map[string]any, kind string, who any) map[string]any {
	q["principal"] = map[string]any{kind: who}
	return q
}

func TestExplainOneself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		frozen := rule("editor", "update", "workspaces")
		frozen["inverted"], frozen["reason"] = true, "Frozen."
		ann.put(at+"/security", document(nil, rule("editor", []string{"read", "update"}, "workspaces"), frozen)).want(http.StatusOK)
		told := bob.post(at+"/security/explain", question("update", "workspaces")).want(http.StatusOK)
		if told.text("allowed") != "false" || told.text("decided.source") != "file" || told.text("decided.index") != "1" ||
			told.text("reason") != "Frozen." || told.text("roles.0") != "editor" || told.text("considered.1.matched") != "true" {
			t.Errorf("explained: %s", told.body)
		}
		if told = ann.post(at+"/security/explain", question("update", "workspaces")).want(http.StatusOK); told.text("allowed") != "true" || told.text("decided.role") != "owner" {
			t.Errorf("the owner: %s", told.body)
		}
		if told = h.superAdmin().post(at+"/security/explain", question("delete", "workspaces")).want(http.StatusOK); told.text("decided.source") != "superadmin" {
			t.Errorf("a super admin: %s", told.body)
		}
		eve.post(at+"/security/explain", question("read", "workspaces")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		eve.post("/v2/workspaces/NoSuch0/security/explain", question("read", "workspaces")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
	})
}

func TestExplainOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		root := h.superAdmin()
		at := ann.workspace("Mine")
		explain := at + "/security/explain"
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		own := rule(nil, "create", "events")
		own["conditions"] = map[string]any{"type": map[string]any{"$regex": "^order\\."}}
		roles := map[string]any{"reader": map[string]any{}, "bot": map[string]any{"auth": map[string]any{"apiKey": map[string]any{}}}}
		ann.put(at+"/security", document(roles, own, rule("reader", "read", "files"), rule("bot", "read", "pages"))).want(http.StatusOK)
		made := ann.post(at+"/security/apikeys", key("x", "read", "files")).want(http.StatusCreated)
		disabled := key("y", "read", "files")
		disabled["disabled"] = true
		off := ann.post(at+"/security/apikeys", disabled).want(http.StatusCreated)
		emit := func(kind string) map[string]any {
			q := question("create", "events")
			q["object"] = map[string]any{"type": kind, "source": map[string]any{"workspaceId": "another"}}
			return q
		}
		for name, c := range map[string]struct {
			question map[string]any
			allowed  string
			source   string
		}{
			"a user":                {about(question("update", "workspaces"), "userId", "bob"), "true", "role"},
			"oneself":               {about(question("read", "workspaces"), "userId", "ann"), "true", "role"},
			"a built-in role":       {about(question("delete", "workspaces"), "role", "owner"), "true", "role"},
			"a role":                {about(question("read", "files"), "role", "reader"), "true", "file"},
			"that role elsewhere":   {about(question("read", "events"), "role", "reader"), "false", ""},
			"what any role has":     {about(question("read", "workspaces"), "role", "reader"), "true", "grant"},
			"a role of automations": {about(question("read", "pages"), "role", "bot"), "true", "file"},
			"automations elsewhere": {about(emit("order.paid"), "role", "bot"), "false", ""},
			"nobody":                {about(emit("order.paid"), "public", true), "true", "file"},
			"nobody otherwise":      {about(emit("bill.paid"), "public", true), "false", ""},
			"a key":                 {about(question("read", "files"), "apiKeyId", made.text("id")), "true", "apikey"},
			"a key otherwise":       {about(emit("order.paid"), "apiKeyId", made.text("id")), "false", ""},
			"a disabled key":        {about(question("read", "files"), "apiKeyId", off.text("id")), "false", ""},
		} {
			if told := ann.post(explain, c.question).want(http.StatusOK); told.text("allowed") != c.allowed || told.text("decided.source") != c.source {
				t.Errorf("%s: %s", name, told.body)
			}
		}
		bob.post(explain, about(question("read", "workspaces"), "userId", "ann")).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.post(explain, about(question("read", "workspaces"), "userId", "bob")).want(http.StatusOK)
		stranger := about(question("read", "workspaces"), "userId", "eve")
		ann.post(explain, stranger).wantError(http.StatusNotFound, errs.NotFound) // as if there were no such user
		if told := root.post(explain, stranger).want(http.StatusOK); told.text("allowed") != "false" {
			t.Errorf("a stranger: %s", told.body)
		}
		eve.who.SuperAdmin = true
		h.people["eve"] = eve.who
		ann.share(at, "eve", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		if told := ann.post(explain, about(question("delete", "workspaces"), "userId", "eve")).want(http.StatusOK); told.text("allowed") != "false" || contains(told.body.String(), "superadmin") {
			t.Errorf("what nobody else may know: %s", told.body)
		}
		ann.post(explain, about(question("read", "workspaces"), "userId", "nobody-knows")).wantError(http.StatusNotFound, errs.NotFound)
		ann.post(explain, about(question("read", "workspaces"), "role", "king")).wantError(http.StatusNotFound, errs.NotFound)
		ann.post(explain, about(question("read", "workspaces"), "apiKeyId", "no-such")).wantError(http.StatusNotFound, errs.NotFound)
		ann.post(explain, about(question("read", "workspaces"), "public", false)).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("principal")
		ann.post(explain, question("read", "planets")).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("subject")
	})
}
