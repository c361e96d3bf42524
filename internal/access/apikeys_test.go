package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

func keyRules(t *testing.T, text string) []access.KeyRequestRule {
	t.Helper()
	var written []map[string]any
	if err := json.Unmarshal([]byte(text), &written); err != nil {
		t.Fatal(err)
	}
	rules, err := access.ParseKeyRules(written)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func (h *house) createKey(k *access.Keys, user string, req access.KeyRequest) (key access.APIKey, secret string, err error) {
	ctx := h.as(user)
	err = h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		a, err := h.e.Load(ctx, tx, "w")
		if err == nil {
			key, secret, err = k.Create(ctx, tx, a, req)
		}
		return err
	})
	return key, secret, err
}

// The rules of a key are shown as the specification shows them.
func TestKeyRules(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		k := access.NewKeys(h.clock, ident.Source{})
		key, secret, err := h.createKey(k, "owner", access.KeyRequest{Name: "k", Rules: keyRules(h.t,
			`[{"action":"read","subject":"workspaces"},{"action":["read","create"],"subject":["files","events"]},{"action":"execute","subject":"automations"},{"action":"read","subject":"secrets"}]`)})
		h.must(err)
		got, _ := json.Marshal(key.ShownRules())
		want := `[{"action":["read"],"subject":"workspaces","conditions":{"id":"w"}},` +
			`{"action":["read","create"],"subject":"files","conditions":{"workspaceId":"w"}},` +
			`{"action":["read"],"subject":"events","conditions":{"source.workspaceId":"w"}},` +
			`{"action":["create"],"subject":"events","conditions":{"source.serviceTopic":"topic:runtime:emit","source.workspaceId":"w"}},` +
			`{"action":["execute"],"subject":"automations","conditions":{"runningWorkspaceId":"w"}},` +
			`{"action":["read"],"subject":"secrets","conditions":{"name":{"$regex":`
		if !strings.HasPrefix(string(got), want) {
			h.t.Errorf("\n%s\n%s", got, want)
		}
		if len(secret) != 46 || !strings.HasPrefix(secret, "ak_") || strings.Contains(key.Masked(), secret[8:40]) || !strings.HasSuffix(key.Masked(), secret[42:]) {
			h.t.Errorf("%s %s", secret, key.Masked())
		}
		p, err := k.Find(h.t.Context(), h.db, secret)
		h.must(err)
		ctx := as(h.t.Context(), p)
		a := h.load(ctx, "w")
		for _, c := range []struct {
			action, subject string
			object          access.Object
			want            bool
		}{
			{"read", "workspaces", nil, true},
			{"update", "workspaces", nil, false},
			{"read", "files", file(nil), true},
			{"delete", "files", file(nil), false},
			{"read", "pages", file(nil), false},
			{"read", "files", access.Fields{"workspaceId": "v"}, false},
			{"create", "events", access.Fields{"source": map[string]any{"workspaceId": "w", "serviceTopic": "other"}}, false},
			{"create", "events", access.Fields{"source": map[string]any{"workspaceId": "w", "serviceTopic": access.TopicEmit}}, true},
			{"read", "secrets", file(access.Fields{"name": "svc_x"}), false},
			{"read", "secrets", file(access.Fields{"name": "svx"}), true},
		} {
			if d := a.Decide(c.action, c.subject, c.object); d.Allowed != c.want {
				h.t.Errorf("%+v: %+v", c, d)
			}
		}
		if err := h.load(ctx, "v").Check("read", "workspaces", nil); errs.CodeOf(err) != errs.InvalidCredentials {
			h.t.Errorf("another workspace: %v", err)
		}
		if err := a.Check("update", "workspaces", nil); errs.CodeOf(err) != errs.PermissionDenied {
			h.t.Error(err)
		}
		f, err := h.e.Workspaces(ctx, h.db, access.List{Dialect: access.Dialect(h.db.Driver()), First: 1, Columns: map[string]access.Column{"id": {SQL: "id"}}}, nil)
		if err != nil || f.Nothing || f.Everything || len(f.Args) != 1 || f.Args[0] != "w" {
			h.t.Errorf("%+v %v", f, err)
		}
	})
}

func TestKeyMistakes(t *testing.T) {
	t.Parallel()
	const rules = "    - {role: reader, action: [manage_permissions, read], subject: workspaces}\n    - {role: reader, action: read, subject: events}\n" +
		"    - {role: reader, action: read, subject: events, inverted: true, conditions: {type: secret}}\n"
	eachHouse(t, rules, func(h *house) {
		k := access.NewKeys(h.clock, ident.Source{})
		for _, c := range []struct {
			user, rules string
			code        errs.Code
		}{
			{"owner", `[]`, errs.ValidationFailed},
			{"owner", `[{"action":"*","subject":"files"}]`, errs.ValidationFailed},
			{"owner", `[{"action":"read","subject":"all"}]`, errs.ValidationFailed},
			{"owner", `[{"action":[],"subject":"files"}]`, errs.ValidationFailed},
			{"owner", `[{"action":"read"}]`, errs.ValidationFailed},
			{"owner", `[{"action":"nonsense","subject":"files"}]`, errs.ValidationFailed},
			{"owner", `[{"action":["read","read"],"subject":"files"}]`, errs.ValidationFailed},
			{"owner", `[{"action":"read","subject":["files","pages","files"]}]`, errs.ValidationFailed},
			{"owner", `[{"action":"create","subject":"secure_secrets"}]`, errs.ValidationFailed},
			{"admin", `[{"action":"create","subject":"secure_secrets"}]`, errs.ValidationFailed},
			{"owner", `[{"action":"manage","subject":"events"}]`, errs.PermissionDenied}, // owners do not change events
			{"owner", `[{"action":"delete","subject":"events"}]`, errs.PermissionDenied},
			{"owner", `[{"action":["create","read","get_usage"],"subject":"events"}]`, ""},
			{"reader", `[{"action":"read","subject":"workspaces"}]`, ""},
			{"reader", `[{"action":"read","subject":"files"}]`, errs.PermissionDenied},
			{"reader", `[{"action":"manage","subject":"workspaces"}]`, errs.PermissionDenied},
			{"reader", `[{"action":"read","subject":"events"}]`, errs.PermissionDenied}, // not every event
			{"stranger", `[{"action":"read","subject":"workspaces"}]`, errs.PermissionDenied},
		} {
			if _, _, err := h.createKey(k, c.user, access.KeyRequest{Name: "k", Rules: keyRules(h.t, c.rules)}); errs.CodeOf(err) != c.code {
				h.t.Errorf("%s %s: %v", c.user, c.rules, err)
			}
		}
		for _, bad := range []map[string]any{{"action": "read", "subject": "files", "conditions": map[string]any{}}, {"action": 1}, {"action": "read", "subject": "files", "id": "x"}} {
			if _, err := access.ParseKeyRules([]map[string]any{bad}); errs.CodeOf(err) != errs.ValidationFailed {
				h.t.Errorf("%v: %v", bad, err)
			}
		}
		read := keyRules(h.t, `[{"action":"read","subject":"workspaces"}]`)
		for _, req := range []access.KeyRequest{
			{Rules: read}, {Name: "a\nb", Rules: read}, {Name: strings.Repeat("x", 201), Rules: read}, {Name: "k", Rules: read, ExpiresAt: h.clock.Now()},
		} {
			if _, _, err := h.createKey(k, "owner", req); errs.CodeOf(err) != errs.ValidationFailed {
				h.t.Errorf("%+v: %v", req, err)
			}
		}
		for i := 2; i < 100; i++ {
			_, _, err := h.createKey(k, "owner", access.KeyRequest{Name: fmt.Sprint(i), Rules: read})
			h.must(err)
		}
		if _, _, err := h.createKey(k, "owner", access.KeyRequest{Name: "one more", Rules: read}); errs.CodeOf(err) != errs.QuotaExceeded {
			h.t.Error(err)
		}
	})
}

// A secret works while its key does, and nothing else works.
func TestKeyLife(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		k := access.NewKeys(h.clock, ident.Source{})
		rules := keyRules(h.t, `[{"action":"read","subject":"workspaces"}]`)
		key, secret, err := h.createKey(k, "owner", access.KeyRequest{Name: "k", Rules: rules, ExpiresAt: h.clock.Now().Add(time.Hour)})
		h.must(err)
		refused := func(why, secret string) {
			h.t.Helper()
			if _, err := k.Find(h.t.Context(), h.db, secret); errs.CodeOf(err) != errs.InvalidCredentials {
				h.t.Errorf("%s: %v", why, err)
			}
		}
		for why, other := range map[string]string{
			"empty": "", "cut": secret[:45], "longer": secret + "A", "other case": "AK_" + secret[3:], "the id": key.ID, "a space": secret + " ",
			"doubled": secret + secret, "one character": secret[:10] + flip(secret[10]) + secret[11:],
		} {
			refused(why, other)
		}
		p, err := k.Find(h.t.Context(), h.db, secret)
		if err != nil || p.Kind != access.Key || p.Credential != access.ByAPIKey || p.KeyID != key.ID || p.KeyWorkspace != "w" || p.UserID != "" {
			h.t.Fatalf("%+v %v", p, err)
		}
		h.must(k.Touch(h.t.Context(), h.db, key.ID))
		used := h.clock.Now()
		h.clock.Advance(30 * time.Second)
		h.must(k.Touch(h.t.Context(), h.db, key.ID))
		h.must(access.NewKeys(h.clock, ident.Source{}).Touch(h.t.Context(), h.db, key.ID)) // another process
		list, err := k.List(h.t.Context(), h.db, "w")
		if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(used) || list[0].Name != "k" || list[0].CreatedBy != "user:owner" {
			h.t.Errorf("%+v %v", list, err)
		}
		change := func(req access.KeyRequest) error {
			ctx := h.as("owner")
			return h.db.Tx(ctx, func(tx *sqldb.Tx) error {
				a, err := h.e.Load(ctx, tx, "w")
				if err == nil {
					_, err = k.Update(ctx, tx, a, secret, req) // named by its secret
				}
				return err
			})
		}
		h.must(change(access.KeyRequest{Name: "k2", Rules: rules, Disabled: true}))
		h.clock.Advance(2 * time.Second)
		refused("disabled", secret)
		if h.load(as(h.t.Context(), p), "w").Decide("read", "workspaces", nil).Allowed {
			h.t.Error("a disabled key has rights")
		}
		h.must(change(access.KeyRequest{Name: "k2", Rules: rules, ExpiresAt: h.clock.Now().Add(time.Second)}))
		if _, err := k.Find(h.t.Context(), h.db, secret); err != nil {
			h.t.Error(err)
		}
		h.clock.Advance(time.Second)
		refused("expired", secret)
		h.must(change(access.KeyRequest{Name: "k2", Rules: rules}))
		if _, err := k.Find(h.t.Context(), h.db, secret); err != nil {
			h.t.Error(err)
		}
		if _, err := k.Get(h.t.Context(), h.db, "v", key.ID); errs.CodeOf(err) != errs.NotFound {
			h.t.Errorf("found in another workspace: %v", err)
		}
		h.tx(func(tx *sqldb.Tx) error {
			_, err := k.Delete(h.t.Context(), tx, "w", key.ID)
			return err
		})
		h.clock.Advance(2 * time.Second)
		refused("deleted", secret)
		err = h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error {
			_, err := k.Delete(h.t.Context(), tx, "w", secret)
			return err
		})
		if errs.CodeOf(err) != errs.NotFound || strings.Contains(fmt.Sprint(errs.From(err).Details), secret) {
			h.t.Errorf("%v", errs.From(err).Details)
		}
	})
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// A role for automations owns a key: kept by saving, never listed, with the rules of the role alone.
func TestRoleKeys(t *testing.T) {
	t.Parallel()
	const rules = "    - {role: robot, action: read, subject: files}\n    - {action: read, subject: pages}\n"
	eachHouse(t, rules, func(h *house) {
		k := access.NewKeys(h.clock, ident.Source{})
		p, err := access.RoleKey(h.t.Context(), h.db, "w", "robot")
		h.must(err)
		h.must(h.save("owner", houseFile+rules+"    - {action: read, subject: apps}\n"))
		if again, err := access.RoleKey(h.t.Context(), h.db, "w", "robot"); err != nil || again.KeyID != p.KeyID {
			h.t.Errorf("%+v %v", again, err)
		}
		a := h.load(as(h.t.Context(), p), "w")
		if !a.Decide("read", "files", nil).Allowed || a.Decide("read", "pages", nil).Allowed || a.Decide("update", "files", nil).Allowed {
			h.t.Error("the key has other rules than its role")
		}
		if list, err := k.List(h.t.Context(), h.db, "w"); err != nil || len(list) != 0 {
			h.t.Errorf("%v %v", list, err)
		}
		if _, err := k.Get(h.t.Context(), h.db, "w", p.KeyID); errs.CodeOf(err) != errs.NotFound {
			h.t.Error(err)
		}
		for _, role := range []string{"", "reader", "editor"} {
			if _, err := access.RoleKey(h.t.Context(), h.db, "w", role); errs.CodeOf(err) != errs.NotFound {
				h.t.Errorf("%q: %v", role, err)
			}
		}
		h.must(h.save("owner", strings.Replace(houseFile, ", robot: {auth: {apiKey: {}}}", "", 1)+"    - {action: read, subject: apps}\n"))
		if _, err := access.RoleKey(h.t.Context(), h.db, "w", "robot"); errs.CodeOf(err) != errs.NotFound {
			h.t.Error(err)
		}
	})
}

// Keys are made in a session, and within its scopes: what is short-lived or narrow does not become a key that is not.
func TestWhoMakesKeys(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		k := access.NewKeys(h.clock, ident.Source{})
		rules := keyRules(h.t, `[{"action":["read","manage_permissions"],"subject":"workspaces"}]`)
		key, _, err := h.createKey(k, "owner", access.KeyRequest{Name: "k", Rules: rules})
		h.must(err)
		owner := access.From(h.as("owner"))
		by := func(change func(p *access.Principal)) access.Principal {
			p := owner
			change(&p)
			return p
		}
		scoped := func(scopes ...string) access.Principal {
			return by(func(p *access.Principal) { p.Scopes = append([]string{"workspaces:write"}, scopes...) })
		}
		for _, c := range []struct {
			caller access.Principal
			rules  string
			code   errs.Code
		}{
			{by(func(p *access.Principal) { p.Credential = access.ByAccessToken }), `[{"action":"read","subject":"files"}]`, errs.PermissionDenied},
			{access.Principal{Kind: access.Key, Credential: access.ByAPIKey, KeyID: key.ID, KeyWorkspace: "w"}, `[{"action":"read","subject":"workspaces"}]`, errs.PermissionDenied},
			{scoped(), `[{"action":"read","subject":"workspaces"}]`, errs.InsufficientScope},
			{scoped(), `[{"action":"update","subject":["workspaces","secrets","apps","automations","pages"]}]`, ""},
			{scoped("workspaces:read"), `[{"action":"manage","subject":["workspaces","secrets","apps"]}]`, ""},
			{scoped("workspaces:read"), `[{"action":"read","subject":"pages"}]`, errs.InsufficientScope},
			{scoped("pages:read"), `[{"action":"manage","subject":"pages"}]`, ""},
			{scoped("workspaces:read"), `[{"action":"read","subject":"events"}]`, errs.InsufficientScope},
			{scoped("events:read"), `[{"action":["read","create"],"subject":"events"}]`, errs.InsufficientScope},
			{scoped("events:read", "events:write"), `[{"action":["read","create"],"subject":"events"}]`, ""},
			{scoped("files:read"), `[{"action":"manage","subject":"files"}]`, errs.InsufficientScope},
			{scoped("files:read", "files:write"), `[{"action":"manage","subject":"files"}]`, ""},
		} {
			ctx := as(h.t.Context(), c.caller)
			for what, change := range map[string]func(*sqldb.Tx, *access.Ability, access.KeyRequest) error{
				"create": func(tx *sqldb.Tx, a *access.Ability, req access.KeyRequest) error {
					_, _, err := k.Create(ctx, tx, a, req)
					return err
				},
				"update": func(tx *sqldb.Tx, a *access.Ability, req access.KeyRequest) error {
					_, err := k.Update(ctx, tx, a, key.ID, req)
					return err
				},
			} {
				undo := fmt.Errorf("undo")
				err := h.db.Tx(ctx, func(tx *sqldb.Tx) error {
					a, err := h.e.Load(ctx, tx, "w")
					if err != nil {
						return err
					}
					if err := change(tx, a, access.KeyRequest{Name: "k", Rules: keyRules(h.t, c.rules)}); err != nil {
						return err
					}
					return undo
				})
				if code := errs.CodeOf(err); code != c.code && (c.code != "" || !errors.Is(err, undo)) {
					h.t.Errorf("%s by %s of %v %s: %v", what, c.caller.Credential, c.caller.Scopes, c.rules, err)
				}
			}
		}
	})
}
