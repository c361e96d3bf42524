package service_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/secrets"
	"atelier/internal/workspaces/service"
)

const secretsUpdated = "workspaces.secrets.updated"

// value is a secret with a value, and none besides.
func value(text string) map[string]any { return map[string]any{"value": text} }

// set is the body of a write of secrets: names and values in turns.
func set(namesAndValues ...string) map[string]any {
	body := map[string]any{}
	for i := 0; i < len(namesAndValues); i += 2 {
		body[namesAndValues[i]] = value(namesAndValues[i+1])
	}
	return body
}

// names lists the secrets of an answer.
func (a *answer) names() string {
	a.t.Helper()
	all, _ := a.at("").(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}

// secrets is the part of the service that other services use.
func (h *house) secrets() *secrets.Secrets {
	return &secrets.Secrets{
		DB: h.db, Bus: h.deps.Bus, Clock: h.clk, Door: &door.Door{Access: h.deps.Access}, Vault: h.deps.Vault, Environ: h.deps.Environ,
	}
}

// values reads the values of the workspace at an address, as the runtime does.
func (h *house) values(at, slug string) map[string]vault.Secret {
	h.t.Helper()
	all, err := h.secrets().Values(h.t.Context(), h.db, workspaces.Workspace{ID: idOf(at), Slug: slug})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func idOf(at string) string { return strings.TrimPrefix(at, "/v2/workspaces/") }

func TestSecretLife(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		before := ann.get(at).want(http.StatusOK)
		if empty := ann.get(path).want(http.StatusOK); strings.TrimSpace(empty.body.String()) != "{}" {
			t.Errorf("none: %s", empty.body)
		}
		made := ann.patch(path, map[string]any{"db": map[string]any{"value": "one", "description": "The database."}, "mail": value("two")}).want(http.StatusOK)
		if made.names() != "db mail" || made.text("db.description") != "The database." || made.text("db.createdBy") != "ann" || made.text("db.id") == "" ||
			made.text("db.createdAt") != "2026-03-01T12:00:00Z" || made.text("db.updatedAt") != made.text("db.createdAt") || made.at("mail.description") != nil {
			t.Errorf("made: %s", made.body)
		}
		if event := h.payload(at, secretsUpdated); fmt.Sprint(event.at("created")) != "[db mail]" || event.at("updated") != nil || event.at("deleted") != nil ||
			event.text("actor.userId") != "ann" || event.text("target.id") != idOf(at) {
			t.Errorf("created: %s", event.body)
		}

		// a value, a description, both or neither
		h.clk.Advance(time.Minute)
		changed := ann.patch(path, set("db", "three")).want(http.StatusOK)
		if changed.text("db.description") != "The database." || changed.text("db.updatedAt") != "2026-03-01T12:01:00Z" ||
			changed.text("db.createdAt") != made.text("db.createdAt") || changed.text("db.id") != made.text("db.id") || changed.text("mail.updatedAt") != made.text("mail.updatedAt") {
			t.Errorf("changed: %s", changed.body)
		}
		ann.patch(path, map[string]any{"db": map[string]any{"description": "Another one.", "value": nil}, "mail": map[string]any{"description": ""}}).want(http.StatusOK)
		if event := h.payload(at, secretsUpdated); fmt.Sprint(event.at("updated")) != "[db]" || event.at("created") != nil {
			t.Errorf("updated: %s", event.body)
		}
		seen := len(h.events(at, secretsUpdated))
		ann.patch(path, map[string]any{}).want(http.StatusOK)
		ann.patch(path, map[string]any{"db": map[string]any{}, "mail": map[string]any{"description": nil}}).want(http.StatusOK)
		if now := len(h.events(at, secretsUpdated)); now != seen {
			t.Errorf("%d events, then %d of changes that change nothing", seen, now)
		}
		if all := h.values(at, "mine"); all["db"].Reveal() != "three" || all["mail"].Reveal() != "two" || len(all) != 2 {
			t.Errorf("values: %q, %q", all["db"].Reveal(), all["mail"].Reveal())
		}

		// replace: what is left out goes, what is named without a value keeps it
		replaced := ann.put(path, map[string]any{"db": map[string]any{}, "new": value("four")}).want(http.StatusOK)
		if replaced.names() != "db new" || replaced.at("db.description") != nil {
			t.Errorf("replaced: %s", replaced.body)
		}
		if event := h.payload(at, secretsUpdated); fmt.Sprint(event.at("created"), event.at("updated"), event.at("deleted")) != "[new] [db] [mail]" {
			t.Errorf("replaced: %s", event.body)
		}
		if all := h.values(at, "mine"); all["db"].Reveal() != "three" || all["new"].Reveal() != "four" || len(all) != 2 {
			t.Error("values of the replacement are wrong")
		}

		if gone := ann.delete(path + "/db").want(http.StatusOK); gone.text("secretName") != "db" {
			t.Errorf("deleted: %s", gone.body)
		}
		ann.delete(path+"/db").wantError(http.StatusNotFound, errs.NotFound)
		ann.delete(path+"/__proto__").wantError(http.StatusNotFound, errs.NotFound)
		if event := h.payload(at, secretsUpdated); fmt.Sprint(event.at("deleted")) != "[db]" {
			t.Errorf("deleted: %s", event.body)
		}
		if named := ann.get("/v2/workspaces/slug:" + before.text("slug") + "/security/secrets").want(http.StatusOK); named.names() != "new" {
			t.Errorf("by slug: %s", named.body)
		}

		// secrets are no content
		if after := ann.get(at).want(http.StatusOK); after.header.Get("ETag") != before.header.Get("ETag") || after.text("updatedAt") != before.text("updatedAt") {
			t.Errorf("the workspace was changed: %s to %s", before.body, after.body)
		}
	})
}

// grep looks for a value and for its spellings in a text.
func grep(t *testing.T, where, text string, values ...string) {
	t.Helper()
	for _, value := range values {
		for _, spelling := range []string{
			value, base64.StdEncoding.EncodeToString([]byte(value[:len(value)/3*3])), hex.EncodeToString([]byte(value)), fmt.Sprintf("%d", []byte(value)),
		} {
			if at := strings.Index(text, spelling); at >= 0 {
				t.Errorf("%s shows a value: ...%.300q", where, text[max(0, at-100):])
			}
		}
	}
}

// P-16: a value is in no answer, log or event, in no kept answer, and nowhere in the database that could be read.
func TestSecretValuesAreNowhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		const one, two, number = "canary-of-the-first-secret", "canary-of-the-other-secret", "73519846201"
		logs := &lockedBuffer{}
		h.deps.Log = slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h.open()
		ann := h.user("ann")
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		answers := []*answer{
			ann.with("Idempotency-Key", "k1").patch(path, set("db", one)).want(http.StatusOK),
			ann.put(path, map[string]any{"db": value(one), "mail": map[string]any{"value": two, "description": "d"}}).want(http.StatusOK),
			ann.get(path).want(http.StatusOK),
			ann.patch(path, map[string]any{"db": one}).want(http.StatusUnprocessableEntity),
			ann.patch(path, map[string]any{"db": map[string]any{"value": []string{one}}}).want(http.StatusUnprocessableEntity),
			ann.patch(path, `{"db": {"value": `+number+`}}`).want(http.StatusUnprocessableEntity),
			ann.patch(path, map[string]any{"db": value(strings.Repeat(one, 4000))}).want(http.StatusUnprocessableEntity),
			ann.patch(path, map[string]any{"a b": value(one)}).want(http.StatusUnprocessableEntity),
			ann.patch(path, `{"db": {"value": "`+one+`"}`).want(http.StatusBadRequest),
			ann.patch(path, `{"db": {"value": "`+one+`"}, "db": {"value": "`+two+`"}}`).want(http.StatusBadRequest),
			h.user("bob").patch(path, set("db", one)).want(http.StatusForbidden),
		}
		for _, a := range answers {
			grep(t, a.what, a.body.String()+fmt.Sprint(a.header), one, two, number)
			if all, _ := a.at("").(map[string]any); a.status == http.StatusOK {
				for name, s := range all {
					if _, shown := s.(map[string]any)["value"]; shown {
						t.Errorf("%s: %s has a value: %s", a.what, name, a.body)
					}
				}
			}
		}
		for _, event := range h.events(at, secretsUpdated) {
			grep(t, "an event", string(event.Payload), one, two, number)
		}
		grep(t, "the log", logs.String(), one, two, number)
		if all := h.values(at, "mine"); fmt.Sprint(all) != "map[db:*** mail:***]" || all["mail"].Reveal() != two {
			t.Errorf("values: %v", all)
		}
		grep(t, "the database", h.everything(), one, two, number)
	})
}

// lockedBuffer is a buffer that several goroutines may write to.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.String()
}

// everything is all that the database holds: the files of SQLite as they are, or every row of every table.
func (h *house) everything() string {
	h.t.Helper()
	var all strings.Builder
	if h.db.Driver() == "sqlite" {
		var path string
		if err := h.db.QueryRow(h.t.Context(), `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&path); err != nil {
			h.t.Fatal(err)
		}
		for _, file := range []string{path, path + "-wal"} {
			content, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				h.t.Fatal(err)
			}
			all.Write(content)
		}
	} else {
		tables, err := sqldb.All(h.t.Context(), h.db, text, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, table := range tables {
			rows, err := sqldb.All(h.t.Context(), h.db, text, `SELECT t::text FROM "`+table+`" t`)
			if err != nil {
				h.t.Fatal(err)
			}
			all.WriteString(strings.Join(rows, "\n"))
		}
	}
	if !strings.Contains(all.String(), secretsUpdated) {
		h.t.Fatal("this is not the database")
	}
	return all.String()
}

func text(rows *sql.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

func TestSecretsThatAreNotValid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		ann.patch(path, set("kept", "x")).want(http.StatusOK)
		seen := len(h.events(at, secretsUpdated))
		long := strings.Repeat("n", 101)
		for name, c := range map[string]struct {
			body  any
			field string
		}{
			"an empty name":        {set("", "x"), ""},
			"a digit first":        {set("1a", "x"), "1a"},
			"a dash first":         {set("-a", "x"), "-a"},
			"a dot":                {set("a.b", "x"), "a.b"},
			"a slash":              {set("a/b", "x"), "a/b"},
			"a blank":              {set("a b", "x"), "a b"},
			"braces":               {set("{{7*7}}", "x"), "{{7*7}}"},
			"a line end":           {set("a\n", "x"), "a\n"},
			"another script":       {set("clé", "x"), "clé"},
			"a long name":          {set(long, "x"), long[:100] + "…"},
			"a very long name":     {set(strings.Repeat("é", 10_000), "x"), strings.Repeat("é", 50) + "…"},
			"an empty value":       {set("a", ""), "a.value"},
			"a large value":        {set("a", strings.Repeat("x", 64<<10+1)), "a.value"},
			"a large one in bytes": {set("a", strings.Repeat("é", 32<<10+1)), "a.value"},
			"a number":             {map[string]any{"a": map[string]any{"value": 1}}, "a.value"},
			"a switch":             {map[string]any{"a": map[string]any{"value": true}}, "a.value"},
			"an object":            {map[string]any{"a": map[string]any{"value": map[string]any{"x": 1}}}, "a.value"},
			"no value":             {map[string]any{"a": map[string]any{"description": "x"}}, "a.value"},
			"null for a new one":   {map[string]any{"a": map[string]any{"value": nil}}, "a.value"},
			"a text":               {map[string]any{"a": "x"}, "a"},
			"null":                 {map[string]any{"a": nil}, "a"},
			"a list":               {map[string]any{"a": []any{value("x")}}, "a"},
			"an unknown key":       {map[string]any{"a": map[string]any{"value": "x", "valeu": "y"}}, "a.valeu"},
			"its own id":           {map[string]any{"a": map[string]any{"value": "x", "id": "mine"}}, "a.id"},
			"its own author":       {map[string]any{"a": map[string]any{"value": "x", "createdBy": "eve"}}, "a.createdBy"},
			"another case":         {map[string]any{"a": map[string]any{"Value": "x"}}, "a.Value"},
			"a long description":   {map[string]any{"a": map[string]any{"value": "x", "description": strings.Repeat("é", 4001)}}, "a.description"},
			"one of two":           {set("a", "x", "b c", "y"), "b c"},
		} {
			t.Log(name)
			for _, write := range []func(string, any) *answer{ann.patch, ann.put} {
				write(path, c.body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField(c.field)
			}
		}
		for _, body := range []string{"null", "[]", `"x"`, "1", `{"a": {"value": "\u0000"}}`, `{"a": {"value": "\ud800"}}`, `{"a": {"value": "x"}, "\u0061": {"value": "y"}}`} {
			if a := ann.put(path, body); a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", body, a.status, a.body)
			}
		}
		ann.patch(path, set("a", strings.Repeat("x", 1<<20))).wantError(http.StatusRequestEntityTooLarge, errs.PayloadTooLarge)
		many := map[string]any{}
		for i := range 2000 {
			many[fmt.Sprintf("%d", i)] = value("x")
		}
		if a := ann.patch(path, many).want(http.StatusUnprocessableEntity); len(a.at("details.errors").([]any)) > 100 {
			t.Errorf("%d errors", len(a.at("details.errors").([]any)))
		}
		if left := ann.get(path).want(http.StatusOK); left.names() != "kept" || len(h.events(at, secretsUpdated)) != seen {
			t.Errorf("a refused write wrote: %s", left.body)
		}

		// what may look odd and is fine
		odd := set("__proto__", "x", "constructor", "{{secret.kept}}", "A-_9", "\x01\u2028é😀", strings.Repeat("n", 100), strings.Repeat("x", 64<<10))
		if all := ann.patch(path, odd).want(http.StatusOK); len(all.at("").(map[string]any)) != 5 {
			t.Errorf("odd ones: %s", all.body)
		}
		all := h.values(at, "mine")
		for name, written := range odd {
			if all[name].Reveal() != written.(map[string]any)["value"] {
				t.Errorf("%s is not what was written", name)
			}
		}
	})
}

func TestSecretsAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		path := ann.workspace("Mine") + "/security/secrets"
		batch := func(from, count int) map[string]any {
			body := map[string]any{}
			for i := range count {
				body[fmt.Sprintf("s%d", from+i)] = value("x")
			}
			return body
		}
		var running sync.WaitGroup
		refused := make([]bool, 12)
		for i := range refused {
			running.Go(func() { refused[i] = ann.patch(path, batch(i*100, 100)).status == http.StatusTooManyRequests })
		}
		running.Wait()
		count := 0
		for _, no := range refused {
			if no {
				count++
			}
		}
		if left := ann.get(path).want(http.StatusOK); len(left.at("").(map[string]any)) != 1000 || count != 2 {
			t.Errorf("%d secrets, %d refusals", len(left.at("").(map[string]any)), count)
		}
		over := ann.patch(path, set("extra", "x")).wantError(http.StatusTooManyRequests, errs.QuotaExceeded)
		if over.text("details.limit") != "1000" {
			t.Errorf("limit: %s", over.body)
		}
		ann.put(path, batch(0, 1001)).wantError(http.StatusTooManyRequests, errs.QuotaExceeded)
		first := strings.Fields(ann.get(path).names())[0]
		ann.patch(path, set(first, "still changes")).want(http.StatusOK)
		ann.put(path, batch(5000, 1)).want(http.StatusOK)
	})
}

// Names that begin with svc_ are the platform's: for anybody but super admins they are not there.
func TestReservedSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, root := h.user("ann"), h.superAdmin()
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		ann.patch(path, set("db", "x")).want(http.StatusOK)
		const reserved = "svc_ratelimit_disabled"
		absent := ann.patch(path, set(reserved, "yes")).wantError(http.StatusForbidden, errs.PermissionDenied)
		if seen := root.patch(path, set(reserved, "yes")).want(http.StatusOK); seen.names() != "db "+reserved {
			t.Errorf("a super admin sees %s", seen.names())
		}
		there := ann.patch(path, set(reserved, "no")).wantError(http.StatusForbidden, errs.PermissionDenied)
		if absent.body.String() != there.body.String() {
			t.Errorf("a refusal tells whether it is there: %s against %s", absent.body, there.body)
		}
		ann.patch(path, set("db", "y", reserved, "no")).wantError(http.StatusForbidden, errs.PermissionDenied)
		ann.put(path, set(reserved, "no")).wantError(http.StatusForbidden, errs.PermissionDenied)
		gone, never := ann.delete(path+"/"+reserved), ann.delete(path+"/svc_other")
		if gone.wantError(http.StatusForbidden, errs.PermissionDenied); gone.body.String() != never.body.String() {
			t.Errorf("a refusal tells whether it is there: %s against %s", gone.body, never.body)
		}
		made := ann.post(at+"/security/apikeys", key("x", "manage", "secrets")).want(http.StatusCreated)
		byKey := h.key(made.text("apiKey"))
		for _, who := range []*caller{ann, byKey} {
			if seen := who.get(path).want(http.StatusOK); seen.names() != "db" {
				t.Errorf("%s sees %s", who.who.Key(), seen.names())
			}
			if left := who.put(path, set("db", "z")).want(http.StatusOK); left.names() != "db" {
				t.Errorf("%s sees %s", who.who.Key(), left.names())
			}
			who.patch(path, set("svc_x", "no")).want(http.StatusForbidden)
		}
		if seen := root.get(path).want(http.StatusOK); seen.names() != "db "+reserved {
			t.Errorf("after a replacement by others: %s", seen.names())
		}

		// the workspace reads its events: it learns that something has changed, the platform what
		for _, event := range h.events(at, secretsUpdated) {
			if contains(string(event.Payload), "svc_") {
				t.Errorf("an event of the workspace shows it: %s", event.Payload)
			}
		}
		if event := h.payload("/v2/workspaces/platform", secretsUpdated); fmt.Sprint(event.at("created")) != "["+reserved+"]" || event.text("target.id") != idOf(at) {
			t.Errorf("the event of the platform: %s", event.body)
		}
		if _, given := h.values(at, "mine")[reserved]; given {
			t.Error("expressions of the workspace can read it")
		}
		if left := root.put(path, map[string]any{}).want(http.StatusOK); left.names() != "" {
			t.Errorf("a super admin replaces all: %s left", left.names())
		}
	})
}

func TestSecretsByRole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, bob, eve := h.user("ann"), h.user("bob"), h.user("eve")
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		ann.patch(path, set("ci_token", "x", "db", "y")).want(http.StatusOK)
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		seen := len(h.events(at, secretsUpdated))
		refused := func(who *caller, path string, status int, code errs.Code) {
			t.Helper()
			for _, a := range []*answer{
				who.get(path), who.patch(path, set("db", "z")), who.patch(path, map[string]any{}), who.put(path, map[string]any{}), who.delete(path + "/db"), who.delete(path + "/none"),
			} {
				a.wantError(status, code)
			}
		}
		refused(bob, path, http.StatusForbidden, errs.PermissionDenied)
		refused(eve, path, http.StatusForbidden, errs.WorkspaceAccessDenied)
		refused(eve, "/v2/workspaces/NoSuch0/security/secrets", http.StatusForbidden, errs.WorkspaceAccessDenied)
		refused(h.superAdmin(), "/v2/workspaces/NoSuch0/security/secrets", http.StatusNotFound, errs.NotFound)
		h.visitor().get(path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.as(access.Principal{}).get(path).wantError(http.StatusUnauthorized, errs.MissingToken)
		narrow := ann.who
		narrow.Scopes = []string{"workspaces:read"}
		h.as(narrow).get(path).want(http.StatusOK)
		h.as(narrow).patch(path, set("db", "z")).wantError(http.StatusForbidden, errs.InsufficientScope)
		if now := ann.get(path); now.names() != "ci_token db" || len(h.events(at, secretsUpdated)) != seen {
			t.Errorf("refused calls changed something: %s", now.body)
		}

		// a role for some of them
		document := map[string]any{"authorizations": map[string]any{"roles": map[string]any{"editor": map[string]any{}}, "rules": []any{
			map[string]any{"role": "editor", "action": "read", "subject": "workspaces"},
			map[string]any{"role": "editor", "action": "manage", "subject": "secrets", "conditions": map[string]any{"name": map[string]any{"$regex": "^ci_"}}},
			map[string]any{"role": "editor", "action": "delete", "subject": "secrets", "inverted": true, "reason": "Ask Ann.", "conditions": map[string]any{"name": "ci_keep"}},
		}}}
		ann.put(at+"/security", document).want(http.StatusOK)
		if some := bob.get(path).want(http.StatusOK); some.names() != "ci_token" {
			t.Errorf("bob sees %s", some.names())
		}
		bob.patch(path, set("db", "z")).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.patch(path, set("ci_new", "n", "other", "z")).wantError(http.StatusForbidden, errs.PermissionDenied)
		bob.delete(path+"/db").wantError(http.StatusForbidden, errs.PermissionDenied)
		if some := bob.put(path, set("ci_keep", "k")).want(http.StatusOK); some.names() != "ci_keep" {
			t.Errorf("bob sees %s", some.names())
		}
		if denied := bob.put(path, map[string]any{}).wantError(http.StatusForbidden, errs.PermissionDenied); denied.text("message") != "Ask Ann." {
			t.Errorf("the reason: %s", denied.body)
		}
		if all := ann.get(path); all.names() != "ci_keep db" {
			t.Errorf("left: %s", all.names())
		}
	})
}

func TestSecretsByKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		path := at + "/security/secrets"
		ann.patch(path, set("db", "x")).want(http.StatusOK)
		ann.patch(other+"/security/secrets", set("theirs", "x")).want(http.StatusOK)
		with := func(action, subject any) *caller {
			return h.key(ann.post(at+"/security/apikeys", key("x", action, subject)).want(http.StatusCreated).text("apiKey"))
		}
		reads := with("read", "secrets")
		if seen := reads.get(path).want(http.StatusOK); seen.names() != "db" {
			t.Errorf("a key sees %s", seen.body)
		}
		with([]string{"read", "update"}, "workspaces").get(path).wantError(http.StatusForbidden, errs.PermissionDenied)
		with("manage", "files").get(path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		reads.get(other+"/security/secrets").wantError(http.StatusUnauthorized, errs.InvalidCredentials)
		// a key that may set and not read learns nothing from the answer, and replaces all the same
		writes := with([]string{"create", "update", "delete"}, "secrets")
		if nothing := writes.patch(path, set("new", "y")).want(http.StatusOK); nothing.names() != "" {
			t.Errorf("it may not read, and reads %s", nothing.body)
		}
		writes.get(path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		writes.put(path, set("new", "z")).want(http.StatusOK)
		now := ann.get(path).want(http.StatusOK)
		if now.names() != "new" || now.text("new.updatedBy") != writes.who.Key() {
			t.Errorf("after the key: %s", now.body)
		}
		creates := with("create", "secrets")
		creates.patch(path, set("more", "y")).want(http.StatusOK)
		creates.patch(path, set("new", "y")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		creates.put(path, set("more2", "y")).want(http.StatusOK) // what it can neither read nor delete stays
		if all := ann.get(path); all.names() != "more more2 new" {
			t.Errorf("after the key: %s", all.names())
		}
		// a name of another workspace is none here
		ann.delete(path+"/theirs").wantError(http.StatusNotFound, errs.NotFound)
		if theirs := ann.get(other + "/security/secrets"); theirs.names() != "theirs" {
			t.Errorf("the other workspace has %s", theirs.names())
		}
	})
}

// An explanation says what the call does.
func TestSecretsExplained(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ask := func(object map[string]any) string {
			return ann.post(at+"/security/explain", map[string]any{"action": "update", "subject": "secrets", "object": object}).want(http.StatusOK).text("allowed")
		}
		if ask(map[string]any{}) != "true" || ask(map[string]any{"name": "db"}) != "true" || ask(map[string]any{"name": "svc_x"}) != "false" {
			t.Error("the explanation is wrong")
		}
	})
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.deps.Environ = func(prefix string) map[string]string {
			return map[string]map[string]string{
				"WORKSPACE_SECRET_mine_": {"db": "of the operator", "mail": "also", "svc_x": "no", "": "no", "a b": "no", "empty": ""},
			}[prefix]
		}
		h.open()
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.patch(at, map[string]any{"slug": "mine"}).want(http.StatusOK)
		ann.patch(at+"/security/secrets", set("db", "stored", "own", "x")).want(http.StatusOK)
		all := h.values(at, "mine")
		if all["db"].Reveal() != "stored" || all["mail"].Reveal() != "also" || all["own"].Reveal() != "x" || len(all) != 3 {
			t.Errorf("values: %q", slices.Sorted(maps.Keys(all)))
		}
		if others := h.values(at, "min"); len(others) != 2 {
			t.Errorf("values of another slug: %q", slices.Sorted(maps.Keys(others)))
		}
		names, err := h.secrets().Names(t.Context(), h.db, idOf(at))
		if err != nil || !slices.Equal(names, []string{"db", "mail", "own"}) {
			t.Errorf("names: %q, %v", names, err)
		}
		if shown := ann.get(at + "/security/secrets"); shown.names() != "db own" {
			t.Errorf("the operator's are listed: %s", shown.names())
		}
	})
}

func TestSecretsUnderNewMasterKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		path := at + "/security/secrets"
		ann.patch(path, set("a", "1", "b", "2")).want(http.StatusOK)
		ann.patch(other+"/security/secrets", set("a", "3")).want(http.StatusOK)
		shown := ann.get(path).body.String()

		h.deps.Vault = newVault(t, "second", "first")
		h.open()
		ann.patch(path, set("c", "4")).want(http.StatusOK)
		ann.delete(path + "/c").want(http.StatusOK)
		ann.patch(path, set("c", "5")).want(http.StatusOK)
		ann.patch(path, map[string]any{"b": map[string]any{"description": "only described"}}).want(http.StatusOK)
		h.wantHoldings("Current 1 Older 3 Rewrapped 0 Lost map[] Damaged map[]", service.SurveySecrets)
		h.wantHoldings("Current 1 Older 3 Rewrapped 3 Lost map[] Damaged map[]", service.RewrapSecrets)
		h.wantHoldings("Current 4 Older 0 Rewrapped 0 Lost map[] Damaged map[]", service.RewrapSecrets)
		if again := ann.patch(path, map[string]any{"b": map[string]any{"description": ""}}); !contains(again.body.String(), strings.Trim(shown, "{}\n")[:80]) {
			t.Errorf("a rotation shows: %s to %s", shown, again.body)
		}

		h.deps.Vault = newVault(t, "second")
		h.open()
		if all := h.values(at, "mine"); all["a"].Reveal() != "1" || all["b"].Reveal() != "2" || all["c"].Reveal() != "5" || len(all) != 3 {
			t.Error("the values are not what they were")
		}

		// a key that is lost: its values are, others are not; the id is told
		h.deps.Vault = newVault(t, "third")
		h.open()
		ann.patch(path, set("a", "new")).want(http.StatusOK)
		_, err := h.secrets().Values(t.Context(), h.db, workspaces.Workspace{ID: idOf(at), Slug: "mine"})
		if !errors.Is(err, vault.ErrUnknownKey) || !contains(err.Error(), `"second"`) || !contains(err.Error(), "secret b") {
			t.Errorf("a lost key: %v", err)
		}
		h.wantHoldings("Current 1 Older 0 Rewrapped 0 Lost map[second:3] Damaged map[]", service.RewrapSecrets)
		if all := ann.get(path).want(http.StatusOK); all.names() != "a b c" {
			t.Errorf("the list: %s", all.body)
		}
		ann.put(path, map[string]any{"a": map[string]any{}, "b": value("new")}).want(http.StatusOK)
		if all := h.values(at, "mine"); all["a"].Reveal() != "new" || all["b"].Reveal() != "new" || len(all) != 2 {
			t.Error("values that are set anew are not there")
		}
	})
}

// wantHoldings holds what a survey or a rewrapping with the house's keys gives against what is wanted.
func (h *house) wantHoldings(want string, look func(ctx context.Context, db *sqldb.DB, v *vault.Vault) (service.Holdings, error)) {
	h.t.Helper()
	got, err := look(h.t.Context(), h.db, h.deps.Vault)
	if err != nil {
		h.t.Fatal(err)
	}
	text := fmt.Sprintf("Current %d Older %d Rewrapped %d Lost %v Damaged %v", got.Current, got.Older, got.Rewrapped, got.Lost, got.Damaged)
	if text != want {
		h.t.Errorf("%s, want %s", text, want)
	}
}

// A rotation beside servers that set values, some with the old key still first: no value is lost, whichever came last.
func TestRotationBesideWriters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		path := at + "/security/secrets"
		const writers, rounds = 4, 25
		var running sync.WaitGroup
		both, reader, mine := newVault(t, "second", "first"), h.secrets(), workspaces.Workspace{ID: idOf(at), Slug: "mine"}
		reader.Vault = both
		for w := range writers {
			running.Go(func() {
				for round := range rounds {
					text := fmt.Sprintf("%d of %d", round, w)
					if a := ann.patch(path, set(fmt.Sprintf("w%d", w), text, "shared", text)); a.status != http.StatusOK {
						t.Errorf("%s: %d %s", a.what, a.status, a.body)
					}
					if all, err := reader.Values(t.Context(), h.db, mine); err != nil || all[fmt.Sprintf("w%d", w)].Reveal() != text {
						t.Errorf("after round %d of %d: %v", round, w, err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { running.Wait(); close(done) }()
		for rotating := true; rotating; {
			if _, err := service.RewrapSecrets(t.Context(), h.db, both); err != nil {
				t.Error(err)
			}
			if _, err := reader.Values(t.Context(), h.db, mine); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				rotating = false
			default:
			}
		}
		h.deps.Vault = both
		if got, err := service.RewrapSecrets(t.Context(), h.db, both); err != nil || got.Unreadable() != 0 || got.Current+got.Rewrapped != writers+1 {
			t.Errorf("%+v, %v", got, err)
		}
		h.deps.Vault = newVault(t, "second")
		all := h.values(at, "mine")
		for w := range writers {
			if got, want := all[fmt.Sprintf("w%d", w)].Reveal(), fmt.Sprintf("%d of %d", rounds-1, w); got != want {
				t.Errorf("w%d is %q, want %q", w, got, want)
			}
		}
	})
}

// More values than one batch, of many workspaces.
func TestRotationOfMany(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		for i := range 3 {
			body := map[string]any{}
			for n := range 180 {
				body[fmt.Sprintf("s%d", n)] = value("x")
			}
			ann.put(ann.workspace(fmt.Sprintf("W%d", i))+"/security/secrets", body).want(http.StatusOK)
		}
		h.deps.Vault = newVault(t, "second", "first")
		h.wantHoldings("Current 0 Older 540 Rewrapped 540 Lost map[] Damaged map[]", service.RewrapSecrets)
		h.wantHoldings("Current 540 Older 0 Rewrapped 0 Lost map[] Damaged map[]", service.SurveySecrets)
	})
}

// Whoever can write to the database cannot put one workspace's value, or an older one, in the place of another.
func TestSecretsThatWereMoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		ann.patch(at+"/security/secrets", set("a", "mine", "b", "mine too")).want(http.StatusOK)
		ann.patch(other+"/security/secrets", set("a", "theirs")).want(http.StatusOK)
		for name, statement := range map[string]string{
			"of another workspace": `UPDATE ws_secrets SET (key_id, data_key, data) = (SELECT key_id, data_key, data FROM ws_secrets WHERE workspace_id = $2 AND name = 'a') WHERE workspace_id = $1 AND name = 'a'`,
			"of another name":      `UPDATE ws_secrets SET (key_id, data_key, data) = (SELECT key_id, data_key, data FROM ws_secrets WHERE workspace_id = $1 AND name = 'b' AND $2 <> '') WHERE workspace_id = $1 AND name = 'a'`,
			"of another version":   `UPDATE ws_secrets SET version = version + 1 WHERE workspace_id = $1 AND name = 'a' AND $2 <> ''`,
		} {
			errUndo := errors.New("undo")
			err := h.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
				if n, err := tx.Exec(t.Context(), statement, idOf(at), idOf(other)); n != 1 || err != nil {
					t.Errorf("%s: %d, %v", name, n, err)
				}
				if _, err := h.secrets().Values(t.Context(), tx, workspaces.Workspace{ID: idOf(at), Slug: "mine"}); !errors.Is(err, vault.ErrDamaged) {
					t.Errorf("%s: %v", name, err)
				}
				return errUndo
			})
			if !errors.Is(err, errUndo) {
				t.Error(err)
			}
		}
	})
}

// A workspace in the bin keeps its secrets, though nobody reaches them there; one that is gone for good has none.
func TestSecretsOfADeletedWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at, other := ann.workspace("Mine"), ann.workspace("Other")
		ann.patch(at+"/security/secrets", set("a", "1", "b", "2")).want(http.StatusOK)
		ann.patch(other+"/security/secrets", set("a", "3")).want(http.StatusOK)
		ann.delete(at).want(http.StatusOK)
		ann.get(at+"/security/secrets").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		ann.patch(at+"/security/secrets", set("a", "x")).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.superAdmin().patch(at+"/security/secrets", set("a", "x")).wantError(http.StatusNotFound, errs.NotFound)
		h.deps.Vault = newVault(t, "second", "first")
		h.wantHoldings("Current 0 Older 3 Rewrapped 3 Lost map[] Damaged map[]", service.RewrapSecrets)
		ann.post(at+"/restore", map[string]any{}).want(http.StatusOK)
		if all := h.values(at, "mine"); all["a"].Reveal() != "1" || all["b"].Reveal() != "2" || ann.get(at+"/security/secrets").names() != "a b" {
			t.Error("the secrets of a restored workspace are not what they were")
		}
		ann.delete(at).want(http.StatusOK)
		ann.delete(at + "/bin").want(http.StatusOK)
		if gone, left := h.values(at, "mine"), h.values(other, "other"); len(gone) != 0 || len(left) != 1 {
			t.Errorf("%d are left here and %d there", len(gone), len(left))
		}
	})
}
