package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

func TestSecretsOfUsers(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob, eve := actor("bob"), actor("eve")
		ref := h.ref("set", bob, "name", "token", "value", "hunter2")
		if strings.Contains(ref, "hunter2") || h.reveal(ref, "w", bob) != "hunter2" {
			h.Error(ref)
		}
		h.says("get", eve, `{"error":"not_found"}`, "name", "token")
		h.ref("set", eve, "name", "token", "value", machine.Payload("a", 1.0), "scope", "user")
		if got := h.reveal(h.ref("get", bob, "name", "token"), "w", bob); got != "hunter2" {
			h.Error(got)
		}
		if got := h.reveal(h.ref("get", eve, "name", "token"), "w", eve); got != `{"a":1}` {
			h.Error(got)
		}
		h.ref("set", bob, "name", "token", "value", "new")
		if got := h.reveal(ref, "w", bob); got != "new" {
			h.Errorf("a reference to what was replaced gives %q", got)
		}
		h.says("delete", bob, `{"deleted":true}`, "name", "token")
		h.says("delete", bob, `{"deleted":false}`, "name", "token")
		if got := h.reveal(ref, "w", bob); got != "" {
			h.Errorf("a reference to what was deleted gives %q", got)
		}
		for _, function := range []string{"get", "set", "delete"} {
			h.says(function, actor(""), `{"error":"user_required"}`, "name", "token", "value", "x", "scope", "user")
		}
	})
}

// An app has secrets of its own, beside those of the workspace and of other apps.
func TestSpaces(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob, app := actor("bob"), actor("bob")
		app.Space = "crm"
		h.ref("set", bob, "name", "token", "value", "of the workspace")
		h.says("get", app, `{"error":"not_found"}`, "name", "token")
		ref := h.ref("set", app, "name", "token", "value", "of the app")
		if got := h.reveal(ref, "w", bob); got != "of the app" {
			h.Error(got)
		}
	})
}

func TestSecretsOfTheWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		for _, name := range []string{"ada", "ed"} {
			h.ref("set", actor(name), "name", "shared", "scope", "workspace", "value", "by "+name)
		}
		if got := h.reveal(h.ref("get", actor("ada"), "name", "shared", "scope", "workspace"), "w", actor("ada")); got != "by ed" {
			h.Error(got)
		}
		for _, name := range []string{"bob", ""} {
			for _, function := range []string{"get", "set", "delete"} {
				h.refused(function, actor(name), machine.Forbidden, "for its editors", "name", "shared", "scope", "workspace", "value", "x")
				h.refused(function, actor(name), machine.Forbidden, "for its editors", "name", "nothing", "scope", "workspace", "value", "x")
			}
		}
		// The rule opens to bob what is named after him, and nothing else.
		h.ref("set", actor("bob"), "name", "token-bob", "scope", "workspace", "value", "1")
		h.ref("set", actor("bob"), "name", "token-bob", "scope", "workspace", "value", "2")
		h.ref("get", actor("bob"), "name", "token-bob", "scope", "workspace")
		h.refused("delete", actor("bob"), machine.Forbidden, "", "name", "token-bob", "scope", "workspace")
		h.refused("set", actor("bob"), machine.Forbidden, "", "name", "token-eve", "scope", "workspace", "value", "1")
		h.refused("get", actor("eve"), machine.Forbidden, "", "name", "token-bob", "scope", "workspace")
		// Without a user, a schedule acts for the workspace; another workspace has other secrets.
		scheduled := actor("")
		scheduled.Scheduled, scheduled.CorrelationID = true, "a schedule"
		if got := h.reveal(h.ref("get", scheduled, "name", "shared", "scope", "workspace"), "w", scheduled); got != "by ed" {
			h.Error(got)
		}
		scheduled.WorkspaceID = "v"
		h.says("get", scheduled, `{"error":"not_found"}`, "name", "shared", "scope", "workspace")
		other := actor("ada")
		other.WorkspaceID = "v"
		h.refused("get", other, machine.Forbidden, "", "name", "shared", "scope", "workspace")
	})
}

func TestReferencesAreBound(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		ref := h.ref("set", bob, "name", "token", "value", "hunter2")
		sameRun, sameUser, neither := actor(""), actor("bob"), actor("eve")
		sameRun.CorrelationID, sameUser.CorrelationID = bob.CorrelationID, "another"
		for name, c := range map[string]struct {
			ref, workspace string
			who            secrets.Actor
			want           string
		}{
			"the same run":      {ref, "w", sameRun, "hunter2"},
			"the same user":     {ref, "w", sameUser, "hunter2"},
			"neither":           {ref, "w", neither, ""},
			"nobody":            {ref, "w", secrets.Actor{}, ""},
			"another workspace": {ref, "v", bob, ""},
			"no reference":      {"hunter2", "w", bob, ""},
			"empty":             {secrets.Prefix, "w", bob, ""},
			"made up":           {secrets.Prefix + "WyJvbmUiLCJhIiwiYiJd", "w", bob, ""},
			"changed":           {ref[:len(ref)-6] + "AAAAAA", "w", bob, ""},
			"long":              {ref + strings.Repeat("A", 10_000), "w", bob, ""},
		} {
			if got := h.reveal(c.ref, c.workspace, c.who); got != c.want {
				h.Errorf("%s: %q", name, got)
			}
		}
		// A run without a user, and without an id, can use nothing: an empty name is not the same as another empty one.
		none := actor("")
		none.CorrelationID, none.Scheduled = "", true
		h.ref("set", none, "name", "shared", "scope", "workspace", "value", "x")
		if got := h.reveal(h.ref("get", none, "name", "shared", "scope", "workspace"), "w", none); got != "" {
			h.Error(got)
		}
		h.clock.Advance(5 * time.Minute)
		if h.reveal(ref, "w", bob) != "hunter2" {
			h.Error("it ended too early")
		}
		h.clock.Advance(time.Millisecond)
		if h.reveal(ref, "w", bob) != "" {
			h.Error("it does not end")
		}
	})
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		ref := h.ref("set", bob, "name", "short", "value", "x", "ttl", 60.0)
		h.ref("set", bob, "name", "long", "value", "y", "ttl", 3600.0)
		h.ref("set", bob, "name", "ever", "value", "z")
		h.clock.Advance(time.Minute)
		if got := h.reveal(ref, "w", bob); got != "" {
			h.Errorf("it gives %q after its time", got)
		}
		h.says("get", bob, `{"error":"not_found"}`, "name", "short")
		h.says("delete", bob, `{"deleted":false}`, "name", "short")
		h.ref("set", bob, "name", "short", "value", "x", "ttl", 60.0)
		h.ref("set", bob, "name", "long", "value", "y") // from now on without an end
		h.clock.Advance(24 * time.Hour)
		for want := 1; want >= 0; want-- {
			if n, err := h.secrets.Tidy(h.Context()); n != want || err != nil {
				h.Errorf("%d, %v", n, err)
			}
		}
		h.ref("get", bob, "name", "long")
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error { return secrets.PurgeWorkspace(ctx, tx, "v") })
		h.ref("get", bob, "name", "ever")
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error { return secrets.PurgeWorkspace(ctx, tx, "w") })
		h.says("get", bob, `{"error":"not_found"}`, "name", "ever")
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		for says, parameters := range map[string][]any{
			"name is missing":           {"value", "x"},
			"name must be a text of":    {"name", "", "value", "x"},
			"characters that can":       {"name", "a\nb", "value", "x"},
			"name is longer":            {"name", strings.Repeat("n", 201), "value", "x"},
			"must not begin with svc_":  {"name", "svc_x", "value", "x"},
			"value is missing":          {"name", "a"},
			"value is empty":            {"name", "a", "value", ""},
			"value is longer":           {"name", "a", "value", strings.Repeat("v", 64<<10+1)},
			"scope must be one of":      {"name", "a", "value", "x", "scope", "global"},
			"ttl must be a whole":       {"name", "a", "value", "x", "ttl", 0.0},
			"ttl must be a whole numb":  {"name", "a", "value", "x", "ttl", 1e12},
			"secrets.set: ttl must be ": {"name", "a", "value", "x", "ttl", "soon"},
		} {
			h.refused("set", bob, machine.InvalidArguments, says, parameters...)
		}
	})
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		fill := func(owner string, count int) {
			h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
				for i := range count {
					id := fmt.Sprintf("%s-%d", owner, i)
					if _, err := tx.Exec(ctx, `INSERT INTO run_secrets VALUES ('w', '', 'user', $1, $2, $2, 'k', 'd', 'd', 0, 0, 0)`, owner, id); err != nil {
						return err
					}
				}
				return nil
			})
		}
		fill("bob", 999)
		h.ref("set", bob, "name", "last", "value", "x")
		h.refused("set", bob, machine.QuotaExceeded, "too many", "name", "more", "value", "x")
		h.ref("set", bob, "name", "last", "value", "y")
		fill("eve", 4)
		h.ref("set", actor("zoe"), "name", "last", "value", "x")
		h.refused("set", actor("zoe"), machine.QuotaExceeded, "too many", "name", "more", "value", "x")
	})
}

func TestStoredSecretsAreSealed(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		h.ref("set", bob, "name", "a", "value", "hunter2-a")
		h.ref("set", bob, "name", "b", "value", "hunter2-b")
		var key, data string
		if err := h.db.QueryRow(h.Context(), `SELECT data_key, data FROM run_secrets WHERE name = 'a'`).Scan(&key, &data); err != nil || strings.Contains(data, "hunter2") {
			h.Fatal(data, err)
		}
		// Put where another one was, it cannot be opened.
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE run_secrets SET data_key = $1, data = $2 WHERE name = 'b'`, key, data)
			return err
		})
		ref := h.ref("get", bob, "name", "b")
		if secret, ok, err := h.secrets.Reveal(as(h.Context(), "bob"), ref, "w"); ok || secret != "" || !errors.Is(err, vault.ErrDamaged) {
			h.Errorf("%q, %v, %v", secret, ok, err)
		}
	})
}

func TestRewrap(t *testing.T) {
	t.Parallel()
	each(t, func(h *house) {
		bob := actor("bob")
		for i := range 3 {
			h.ref("set", bob, "name", fmt.Sprint(i), "value", fmt.Sprint("v", i))
		}
		both := newVault(h.T, "two", "one")
		looked, err := secrets.Rewrap(h.Context(), h.db, both, true)
		if err != nil || looked.Older != 3 || looked.Rewrapped != 0 {
			h.Errorf("%+v, %v", looked, err)
		}
		done, err := secrets.Rewrap(h.Context(), h.db, both, false)
		if err != nil || done.Older != 3 || done.Rewrapped != 3 {
			h.Errorf("%+v, %v", done, err)
		}
		alone := newVault(h.T, "two")
		after, err := secrets.Rewrap(h.Context(), h.db, alone, true)
		if err != nil || after.Current != 3 || len(after.Lost)+len(after.Damaged) != 0 {
			h.Errorf("%+v, %v", after, err)
		}
		lost, err := secrets.Rewrap(h.Context(), h.db, newVault(h.T, "three"), true)
		if err != nil || lost.Lost["two"] != 3 {
			h.Errorf("%+v, %v", lost, err)
		}
		h.secrets = secrets.New(secrets.Deps{DB: h.db, Vault: alone, Clock: h.clock, Access: access.NewEnforcer(h.clock)})
		if got := h.reveal(h.ref("get", bob, "name", "1"), "w", bob); got != "v1" {
			h.Error(got)
		}
	})
}
