package access_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// house is a workspace w with an owner, an editor and a member with the role reader.
type house struct {
	t     *testing.T
	db    *sqldb.DB
	e     *access.Enforcer
	clock *clock.Manual
}

const houseFile = `
authorizations:
  roles: {reader: {}, member: {auth: {svc: {conditions: {authData.email: {$regex: '@firm\.example$'}}}}}, robot: {auth: {apiKey: {}}}}
  rules:
`

func eachHouse(t *testing.T, rules string, run func(h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		clk := clock.NewManual(time.Unix(1_800_000_000, 0))
		h := &house{t: t, db: db, e: access.NewEnforcer(clk), clock: clk}
		h.tx(func(tx *sqldb.Tx) error {
			for user, role := range map[string]access.Role{"owner": access.Owner, "editor": access.Editor, "reader": "reader"} {
				if err := access.Grant(h.as(user), tx, "w", role); err != nil {
					return err
				}
			}
			return access.GrantSuperAdmins(t.Context(), tx, "platform")
		})
		h.must(h.save("owner", houseFile+rules))
		run(h)
	}, access.Migrations())
}

func (h *house) as(user string) context.Context {
	p := access.Principal{Kind: access.User, Credential: access.BySession, UserID: user, SessionID: "s-" + user, Scopes: access.Scopes()}
	switch user {
	case "nobody":
		p = access.Principal{}
	case "service":
		p = access.Principal{Kind: access.Internal}
	case "admin":
		p.SuperAdmin = true
	case "visitor":
		p.Kind = access.Anonymous
	case "member":
		p.AuthData = map[string]map[string]any{"svc": {"email": "m@firm.example"}}
	}
	return as(h.t.Context(), p)
}

func (h *house) tx(fn func(*sqldb.Tx) error) { h.t.Helper(); h.must(h.db.Tx(h.t.Context(), fn)) }

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err, errs.From(err).Fields)
	}
}

func (h *house) save(user, document string) error {
	ctx := h.as(user)
	return h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := h.e.SaveSecurity(ctx, tx, access.SecurityChange{WorkspaceID: "w", Document: []byte(document)})
		return err
	})
}

func (h *house) load(ctx context.Context, workspace string) *access.Ability {
	h.t.Helper()
	a, err := h.e.Load(ctx, h.db, workspace)
	h.must(err)
	return a
}

func (h *house) share(user string, g access.ObjectGrant) error {
	ctx := h.as(user)
	return h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		a, err := h.e.Load(ctx, tx, "w")
		if err == nil {
			_, err = a.Share(ctx, tx, g)
		}
		return err
	})
}

func (h *house) unshare(user, target string) error {
	ctx := h.as(user)
	return h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		a, err := h.e.Load(ctx, tx, "w")
		if err != nil {
			return err
		}
		return a.Unshare(ctx, tx, access.ObjectGrant{SubjectType: "workspaces", Target: target})
	})
}

func (h *house) may(user, action, subject string, object access.Object, want bool) {
	h.t.Helper()
	a := h.load(h.as(user), "w")
	if got := a.Decide(action, subject, object); got.Allowed != want {
		h.t.Errorf("%s %s %s: %v (%+v)\n%+v", user, action, subject, got.Allowed, got.Rule, a.Explain(action, subject, object))
	}
}

func file(more access.Fields) access.Fields {
	f := access.Fields{"workspaceId": "w"}
	maps.Copy(f, more)
	return f
}

// The built-in roles, as long as the file says nothing.
func TestBuiltInRoles(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		event := access.Fields{"type": "x", "source": map[string]any{"workspaceId": "w", "serviceTopic": access.TopicEmit}}
		audit := access.Fields{"type": "apikeys.created", "source": map[string]any{"workspaceId": "w"}}
		foreign := access.Fields{"workspaceId": "v"}
		for _, c := range []struct {
			action, subject string
			object          access.Object
			may             string
		}{
			{"read", "workspaces", nil, "owner editor reader admin"},
			{"update", "workspaces", nil, "owner editor admin"},
			{"delete", "workspaces", nil, "owner admin"},
			{"manage_security", "workspaces", nil, "owner admin"},
			{"read", "workspaces", access.Fields{"id": "v"}, "admin"},
			{"create", "files", nil, "owner editor admin"},
			{"delete", "files", file(nil), "owner editor admin"},
			{"read", "files", foreign, "admin"},
			{"read", "pages", nil, "owner editor admin"},
			{"create", "pages", nil, "owner admin"},
			{"read_app_dsul", "apps", nil, "owner editor admin"},
			{"read", "apps", nil, "owner editor reader member admin visitor stranger nobody"},
			{"update", "apps", nil, "owner editor admin"},
			{"create", "apps", nil, "owner admin"},
			{"read", "secrets", file(access.Fields{"name": "mine"}), "owner admin"},
			{"read", "secrets", file(access.Fields{"name": "svc_theirs"}), "admin"},
			{"create", "events", event, "owner editor admin"},
			{"create", "events", audit, "admin"},
			{"read", "events", audit, "owner admin"},
			{"read", "events", event, "owner editor admin"},
			{"delete", "events", event, "admin"},
			{"test", "automations", nil, "owner editor admin"},
			{"my-action", "automations", nil, "owner admin"},
		} {
			for user := range strings.FieldsSeq("owner editor reader member admin visitor stranger nobody service") {
				h.may(user, c.action, c.subject, c.object, strings.Contains(" "+c.may+" ", " "+user+" "))
			}
		}
	})
}

// The last rule that matches decides, also about owners; a super admin is above the file.
func TestOrderOfRules(t *testing.T) {
	t.Parallel()
	eachHouse(t, `
    - {action: read, subject: files}
    - {action: read, subject: files, inverted: true, reason: Closed., conditions: {name: secret}}
    - {role: reader, action: read, subject: files, conditions: {createdBy: '${user.id}'}}
    - {role: editor, action: read, subject: workspaces}
    - {role: member, action: [approve], subject: automations}
    - {action: update, subject: files, inverted: true, fields: [size]}
    - {action: read, subject: pages, inverted: true, conditions: {name: '${user.authData.azure.x}'}}
`, func(h *house) {
		secret := file(access.Fields{"id": "f1", "name": "secret", "createdBy": "reader"})
		for user := range strings.FieldsSeq("owner editor stranger nobody visitor") {
			h.may(user, "read", "files", file(access.Fields{"name": "open"}), true)
			h.may(user, "read", "files", secret, false)
		}
		h.may("reader", "read", "files", secret, true)
		h.may("admin", "read", "files", secret, true)
		h.may("service", "read", "files", file(nil), false)
		h.may("editor", "update", "workspaces", nil, false) // the file's rules replace the template
		h.may("editor", "delete", "files", file(nil), false)
		h.may("member", "approve", "automations", nil, true)
		h.may("member", "execute", "automations", nil, false)
		h.may("stranger", "approve", "automations", nil, false)
		h.may("owner", "read", "pages", file(access.Fields{"name": ""}), true) // an undefined placeholder drops the rule
		h.may("owner", "update", "files", file(nil), true)
		a := h.load(h.as("owner"), "w")
		if a.DecideField("update", "files", "size", file(nil)).Allowed || !a.DecideField("update", "files", "name", file(nil)).Allowed {
			h.t.Error("fields")
		}
		err := errs.From(a.Check("read", "files", secret))
		if err.Code != errs.PermissionDenied || err.Message != "Closed. f1" || err.Details["action"] != "read" || err.Details["subjectType"] != "files" || err.Details["id"] != "f1" {
			h.t.Errorf("%+v", err)
		}
		if d := a.Decide("read", "files", secret); d.Rule == nil || d.Rule.Source != access.FromFile || *d.Rule.Index != 1 {
			h.t.Errorf("%+v", d)
		}
		why := h.load(h.as("reader"), "w").Explain("read", "files", secret)
		if !why.Allowed || why.Decided.Role != "reader" || why.Roles[0] != "reader" || len(why.Considered) != 4 {
			h.t.Errorf("%+v", why)
		}
		if m := h.load(h.as("member"), "w"); m.Role() != "member" {
			h.t.Errorf("%v", m.Roles())
		}
	})
}

// What each is told who may not.
func TestDenials(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		for user, code := range map[string]errs.Code{
			"nobody": errs.MissingToken, "stranger": errs.WorkspaceAccessDenied, "visitor": errs.WorkspaceAccessDenied,
			"service": errs.WorkspaceAccessDenied, "reader": errs.PermissionDenied, "owner": "", "admin": "",
		} {
			if err := h.load(h.as(user), "w").Check("delete", "workspaces", nil); errs.CodeOf(err) != code {
				h.t.Errorf("%s: %v", user, err)
			}
		}
		here := errs.From(h.load(h.as("stranger"), "w").Check("read", "workspaces", nil))
		gone := errs.From(h.load(h.as("stranger"), "x").Check("read", "workspaces", nil))
		if here.Message != gone.Message || here.Status() != gone.Status() || here.Details["workspaceId"] != "w" || len(here.Details) != len(gone.Details) {
			h.t.Errorf("%v and %v differ", here, gone)
		}
		if err := h.load(h.as("admin"), "x").Check("read", "workspaces", nil); errs.CodeOf(err) != errs.NotFound {
			h.t.Error(err)
		}
		denied := errs.From(h.load(h.as("reader"), "w").Check("update", "workspaces", access.Fields{"id": "w", "slug": "slug"}))
		if denied.Message != `Cannot execute "update" on "workspaces" w` || denied.Details["slug"] != "slug" {
			h.t.Errorf("%+v", denied)
		}
		for user, code := range map[string]errs.Code{
			"stranger": "", "admin": "", "nobody": errs.MissingToken, "visitor": errs.PermissionDenied, "service": errs.PermissionDenied,
		} {
			if err := h.e.Global(h.as(user)).Check("create", "workspaces", nil); errs.CodeOf(err) != code {
				h.t.Errorf("%s makes a workspace: %v", user, err)
			}
		}
	})
}

// A document is refused that would lock its writer out, drop a role in use, or give more than its writer has.
func TestSavingRules(t *testing.T) {
	t.Parallel()
	const security = "    - {role: reader, action: [manage_security, manage_permissions, read], subject: workspaces}\n    - {role: reader, action: read, subject: pages}\n"
	eachHouse(t, security, func(h *house) {
		for rules, code := range map[string]errs.Code{
			security + "    - {action: manage_security, subject: workspaces, inverted: true}\n": errs.PermissionDenied,
			security + "    - {role: reader, action: update, subject: pages}\n":                 errs.PermissionDenied,
			security + "    - {role: reader, action: manage, subject: pages}\n":                 errs.PermissionDenied,
			security + "    - {action: [read, delete], subject: files}\n":                       errs.PermissionDenied,
			security + "    - {role: editor, action: read, subject: pages}\n":                   errs.PermissionDenied,
			security + "    - {action: read, subject: pages}\n":                                 "",
			"    - {role: reader, action: read, subject: pages}\n":                              errs.PermissionDenied,
		} {
			if err := h.save("reader", houseFile+rules); errs.CodeOf(err) != code && (code == "" || errs.CodeOf(err) != errs.Conflict) {
				h.t.Errorf("%s: %v", rules, err)
			}
		}
		assigned := strings.Replace(houseFile, "reader: {}", "reader: {auth: {svc: {}}}", 1) + security
		if err := h.save("reader", assigned); errs.CodeOf(err) != errs.PermissionDenied {
			h.t.Errorf("a role is assigned by somebody who is no owner: %v", err)
		}
		if err := h.save("owner", houseFile+"    - {action: manage_security, subject: workspaces, inverted: true}\n"); errs.CodeOf(err) != errs.Conflict {
			h.t.Errorf("an owner locks itself out: %v", err)
		}
		if err := h.save("owner", "authorizations: {roles: {}}"); errs.CodeOf(err) != errs.Conflict {
			h.t.Errorf("a role in use is dropped: %v", err)
		}
		if err := h.save("admin", houseFile+"    - {action: manage_security, subject: workspaces, inverted: true}\n"); errs.CodeOf(err) != errs.Conflict {
			h.t.Errorf("a super admin locks the owners out: %v", err)
		}
		h.must(h.save("admin", houseFile+"    - {role: reader, action: manage_security, subject: workspaces, inverted: true}\n"))
		stored, err := access.LoadSecurity(h.t.Context(), h.db, "w")
		if err != nil || stored.Revision != 3 || stored.UpdatedBy != "user:admin" || !stored.UpdatedAt.Equal(h.clock.Now()) || !strings.Contains(string(stored.Document), houseFile) {
			h.t.Errorf("%+v %v", stored, err)
		}
		none, err := access.LoadSecurity(h.t.Context(), h.db, "x")
		if err != nil || none.Revision != 0 {
			h.t.Errorf("%+v %v", none, err)
		}
	})
}

// What is rolled back is forgotten: a document that was compiled for it does not come back.
func TestRolledBackDocument(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		ctx, undo := h.as("owner"), fmt.Errorf("undo")
		_ = h.db.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := h.e.SaveSecurity(ctx, tx, access.SecurityChange{WorkspaceID: "w", Document: []byte(houseFile + "    - {action: read, subject: files}")})
			if err != nil {
				h.t.Error(err)
			}
			return undo
		})
		h.may("stranger", "read", "files", nil, false)
		h.must(h.save("owner", houseFile+"    - {action: read, subject: pages}"))
		h.may("stranger", "read", "files", nil, false)
		h.may("stranger", "read", "pages", nil, true)
	})
}

func TestSharing(t *testing.T) {
	t.Parallel()
	const rules = "    - {role: reader, action: [manage_permissions, read], subject: workspaces}\n    - {role: reader, action: [read, manage_permissions], subject: pages}\n"
	eachHouse(t, rules, func(h *house) {
		workspace := func(target string, role access.Role, p access.Policies) access.ObjectGrant {
			return access.ObjectGrant{SubjectType: "workspaces", Target: target, Role: role, Policies: p}
		}
		page := func(target string, role access.Role, p access.Policies) access.ObjectGrant {
			return access.ObjectGrant{SubjectType: "pages", SubjectID: "p1", Target: target, Role: role, Policies: p}
		}
		read := access.Policies{Read: true}
		for _, c := range []struct {
			user  string
			grant access.ObjectGrant
			code  errs.Code
		}{
			{"owner", workspace("x", "", access.Policies{}), errs.ValidationFailed},
			{"owner", workspace("", "editor", access.Policies{}), errs.ValidationFailed},
			{"owner", workspace("x", "nothing", access.Policies{}), errs.ValidationFailed},
			{"owner", workspace("x", "robot", access.Policies{}), errs.ValidationFailed},
			{"owner", workspace("*", "owner", access.Policies{}), errs.ValidationFailed},
			{"owner", workspace("role:nothing", "", read), errs.ValidationFailed},
			{"owner", workspace("role:superadmin", "", read), errs.ValidationFailed},
			{"owner", workspace("role:reader", "editor", read), errs.ValidationFailed},
			{"owner", access.ObjectGrant{SubjectType: "files", SubjectID: "f", Target: "x", Policies: read}, errs.ValidationFailed},
			{"owner", workspace("owner", "editor", access.Policies{}), errs.Conflict},
			{"admin", workspace("owner", "editor", access.Policies{}), errs.Conflict},
			{"reader", workspace("x", "owner", access.Policies{}), errs.PermissionDenied},
			{"reader", workspace("x", "editor", access.Policies{}), errs.PermissionDenied},
			{"reader", workspace("x", "", access.Policies{Update: true}), errs.PermissionDenied},
			{"reader", page("x", "", access.Policies{Write: true}), errs.PermissionDenied},
			{"reader", workspace("x", "reader", access.Policies{}), ""},
			{"reader", page("*", "", read), ""},
			{"owner", page("x2", "editor", access.Policies{}), ""},
			{"owner", page("role:member", "", access.Policies{Update: true}), ""},
			{"owner", workspace("second", "owner", access.Policies{}), ""},
			{"reader", workspace("second", "reader", access.Policies{}), errs.PermissionDenied},
		} {
			if err := h.share(c.user, c.grant); errs.CodeOf(err) != c.code {
				h.t.Errorf("%s %+v: %v %v", c.user, c.grant, err, errs.From(err))
			}
		}
		p1, p2 := file(access.Fields{"id": "p1"}), file(access.Fields{"id": "p2"})
		h.may("nobody", "read", "pages", p1, true)
		h.may("nobody", "read", "pages", p2, false)
		h.may("x2", "update", "pages", p1, true)
		h.may("x2", "update", "pages", p2, false)
		h.may("x2", "read", "workspaces", nil, false)
		h.may("member", "update", "pages", p1, true)
		h.may("member", "update", "pages", p2, false)
		h.may("x", "read", "workspaces", nil, true)
		owners, err := access.Owners(h.t.Context(), h.db, "w")
		if err != nil || len(owners) != 2 {
			h.t.Errorf("%v %v", owners, err)
		}
		list, err := access.GrantsOf(h.t.Context(), h.db, "pages", "p1")
		if err != nil || len(list) != 3 || list[0].Target != "x2" || list[0].Role != "editor" || list[2].Target != "*" || !list[2].Policies.Read {
			h.t.Errorf("%+v %v", list, err)
		}
		h.lastOwner()
	})
}

func (h *house) lastOwner() {
	h.t.Helper()
	for _, step := range []struct {
		user, target string
		code         errs.Code
	}{
		{"reader", "second", errs.PermissionDenied},
		{"owner", "second", ""},
		{"owner", "second", errs.NotFound},
		{"owner", "owner", errs.Conflict},
		{"admin", "role:superadmin", errs.NotFound},
		{"owner", "x", ""},
	} {
		if err := h.unshare(step.user, step.target); errs.CodeOf(err) != step.code {
			h.t.Errorf("%s removes %s: %v", step.user, step.target, err)
		}
	}
	h.may("x", "read", "workspaces", nil, false)
	var orphans []string
	h.tx(func(tx *sqldb.Tx) (err error) {
		orphans, err = access.RevokeUser(h.t.Context(), tx, "owner")
		return err
	})
	if err := h.load(h.as("admin"), "w").Check("read", "workspaces", nil); len(orphans) != 1 || err != nil {
		h.t.Errorf("%v %v", orphans, err)
	}
	h.may("owner", "read", "workspaces", nil, false)
}

// Two owners who remove each other at the same time do not both succeed.
func TestOwnersRemoveEachOther(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		for range 5 {
			h.must(h.share("admin", access.ObjectGrant{SubjectType: "workspaces", Target: "owner", Role: "owner"}))
			h.must(h.share("admin", access.ObjectGrant{SubjectType: "workspaces", Target: "second", Role: "owner"}))
			done := make(chan error, 2)
			go func() { done <- h.unshare("owner", "second") }()
			go func() { done <- h.unshare("second", "owner") }()
			first, second := <-done, <-done
			owners, err := access.Owners(h.t.Context(), h.db, "w")
			if err != nil || len(owners) == 0 || (first == nil) == (second == nil) {
				h.t.Fatalf("%v %v %v %v", owners, err, first, second)
			}
		}
	})
}

// The filter over all workspaces is the decision about each.
func TestListOfWorkspaces(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		documents := map[string]string{
			"open":    "    - {action: read, subject: workspaces}",
			"closed":  "    - {role: reader, action: read, subject: workspaces, inverted: true}\n    - {role: reader, action: manage_security, subject: workspaces}",
			"labels":  "    - {action: read, subject: workspaces, conditions: {labels: public}}",
			"firm":    "    - {role: member, action: manage, subject: workspaces}",
			"plain":   "    - {role: editor, action: read, subject: workspaces}",
			"shared":  "",
			"policy":  "",
			"members": "",
		}
		setup(h.t, h.db, `CREATE TABLE workspaces_of_test (id TEXT, slug TEXT, name TEXT, labels TEXT, created_by TEXT)`)
		ids := []string{"w", "platform"}
		labels := map[string]any{"labels": []any{"public"}, "open": nil}
		for id, document := range documents {
			ids = append(ids, id)
			h.tx(func(tx *sqldb.Tx) error {
				if err := access.Grant(h.as("owner"), tx, id, access.Owner); err != nil {
					return err
				}
				if id == "closed" || id == "plain" {
					if err := access.Grant(h.as("reader"), tx, id, "reader"); err != nil {
						return err
					}
				}
				_, err := h.e.SaveSecurity(h.as("admin"), tx, access.SecurityChange{WorkspaceID: id, Document: []byte(houseFile + document)})
				return err
			})
		}
		h.shareIn("shared", access.ObjectGrant{SubjectType: "workspaces", Target: "*", Policies: access.Policies{Read: true}})
		h.shareIn("policy", access.ObjectGrant{SubjectType: "workspaces", Target: "*", Policies: access.Policies{Update: true}})
		h.shareIn("members", access.ObjectGrant{SubjectType: "workspaces", Target: "role:member", Policies: access.Policies{Read: true}})
		h.tx(func(tx *sqldb.Tx) error {
			for _, id := range ids {
				text := any(nil)
				if labels[id] != nil {
					text = `["x","public"]`
				}
				if _, err := tx.Exec(h.t.Context(), `INSERT INTO workspaces_of_test (id, labels) VALUES ($1, $2)`, id, text); err != nil {
					return err
				}
			}
			return nil
		})
		counts := map[string]int{}
		for user := range strings.FieldsSeq("owner editor reader member stranger visitor nobody admin service") {
			counts[user] = h.compareList(h.as(user), ids, labels)
		}
		if counts["admin"] != len(ids) || counts["service"] != 0 || counts["stranger"] != 3 || counts["member"] != 5 {
			h.t.Errorf("%v", counts)
		}
	})
}

func (h *house) shareIn(workspace string, g access.ObjectGrant) {
	h.t.Helper()
	h.tx(func(tx *sqldb.Tx) error {
		a, err := h.e.Load(h.as("admin"), tx, workspace)
		if err == nil {
			_, err = a.Share(h.as("admin"), tx, g)
		}
		return err
	})
}

func (h *house) compareList(ctx context.Context, ids []string, labels map[string]any) (count int) {
	h.t.Helper()
	f, err := h.e.Workspaces(ctx, h.db, access.List{Dialect: access.Dialect(h.db.Driver()), First: 2, Columns: map[string]access.Column{
		"id": {SQL: "t.id"}, "slug": {SQL: "t.slug"}, "name": {SQL: "t.name"}, "labels": {SQL: "t.labels", Kind: access.JSON}, "createdBy": {SQL: "t.created_by"},
	}}, func(context.Context, sqldb.Reader, []string) (map[string]access.Object, error) {
		objects := map[string]access.Object{}
		for _, id := range ids {
			objects[id] = workspaceOfTest(id, labels)
		}
		return objects, nil
	})
	h.must(err)
	for _, id := range ids {
		want := h.load(ctx, id).Decide("read", "workspaces", workspaceOfTest(id, labels)).Allowed
		var n int
		h.must(h.db.QueryRow(ctx, `SELECT COUNT(*) FROM workspaces_of_test AS t WHERE t.id = $1 AND `+f.SQL, append([]any{id}, f.Args...)...).Scan(&n))
		if (n == 1) != want {
			h.t.Errorf("%s %s: listed %d, may read %v\n%s", access.From(ctx).UserID, id, n, want, f.SQL)
		}
		count += n
	}
	return count
}

func workspaceOfTest(id string, labels map[string]any) access.Fields {
	object := access.Fields{"id": id}
	if labels[id] != nil {
		object["labels"] = []any{"x", "public"}
	}
	return object
}

// A decision over 200 rules, the caller's being the weakest of all.
func BenchmarkDecide200Rules(b *testing.B) {
	var rules strings.Builder
	for i := range 200 {
		fmt.Fprintf(&rules, "    - {role: editor, action: [read, update], subject: files, conditions: {name: n%d, metadata.kind: {$in: [a, b, c]}, createdBy: {$ne: '${user.id}'}}}\n", i)
	}
	db := sqldbtest.SQLite(b, access.Migrations())
	e := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
	ctx := access.With(b.Context(), access.Principal{Kind: access.User, UserID: "editor"})
	err := db.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := access.Grant(ctx, tx, "w", access.Editor); err != nil {
			return err
		}
		admin := access.With(b.Context(), access.Principal{Kind: access.User, SuperAdmin: true})
		_, err := e.SaveSecurity(admin, tx, access.SecurityChange{WorkspaceID: "w", Document: []byte(houseFile + rules.String())})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	a, err := e.Load(ctx, db, "w")
	if err != nil {
		b.Fatal(err)
	}
	object := access.Fields{"workspaceId": "w", "name": "n0", "metadata": map[string]any{"kind": "c"}, "createdBy": "other"}
	b.ReportAllocs()
	for b.Loop() {
		if !a.Decide("read", "files", object).Allowed {
			b.Fatal("denied")
		}
	}
}
