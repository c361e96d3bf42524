package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

func documentOf(t *testing.T, rules ...map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"authorizations": map[string]any{"roles": map[string]any{"reader": map[string]any{}}, "rules": rules}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ruleOn reads something when its fields match the patterns.
func ruleOn(subject any, patterns map[string]string) map[string]any {
	conditions := map[string]any{}
	for field, pattern := range patterns {
		conditions[field] = map[string]any{"$regex": pattern}
	}
	return map[string]any{"action": "read", "subject": subject, "conditions": conditions}
}

func repeated(n int, r map[string]any) []map[string]any {
	rules := make([]map[string]any, n)
	for i := range rules {
		rules[i] = r
	}
	return rules
}

// What a document may cost is bounded before it is stored.
func TestDocumentsThatCostTooMuch(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprint("metadata.f", i)] = "a"
	}
	large := strings.Repeat("a{200}", 9)
	values := func(n int) map[string]any {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("value-%06d", i)
		}
		return map[string]any{"action": "read", "subject": "workspaces", "conditions": map[string]any{"name": map[string]any{"$in": list}}}
	}
	own := map[string]string{"name": "^${user.id}$"}
	for name, c := range map[string]struct {
		document string
		refused  string
	}{
		"patterns for every caller":              {documentOf(t, repeated(50, ruleOn("files", own))...), ""},
		"too many patterns for every caller":     {documentOf(t, repeated(51, ruleOn("files", own))...), "authorizations.rules[50].conditions.name.$regex"},
		"as many by subjects":                    {documentOf(t, repeated(26, ruleOn([]string{"files", "pages"}, own))...), "authorizations.rules[25].conditions.name.$regex"},
		"values that are patterns":               {documentOf(t, repeated(100, ruleOn("files", many))...), ""},
		"too many values that are patterns":      {documentOf(t, repeated(101, ruleOn("files", many))...), "authorizations.rules[100].conditions.metadata.f0.$regex"},
		"large patterns":                         {documentOf(t, repeated(10, ruleOn("files", map[string]string{"name": large}))...), ""},
		"too many large patterns":                {documentOf(t, repeated(12, ruleOn("files", map[string]string{"name": large}))...), "authorizations.rules[11].conditions.name.$regex"},
		"a class that is long in SQL":            {documentOf(t, ruleOn("files", map[string]string{"name": strings.Repeat(`\pL`, 300)})), "authorizations.rules[0].conditions.name.$regex"},
		"many classes that are long in SQL":      {documentOf(t, repeated(60, ruleOn("files", map[string]string{"name": `\pL`}))...), "authorizations.rules[27].conditions.name.$regex"},
		"patterns about reading the workspace":   {documentOf(t, ruleOn("workspaces", map[string]string{"name": "a{150}"})), ""},
		"too much about reading the workspace":   {documentOf(t, repeated(2, ruleOn("workspaces", map[string]string{"name": "a{150}"}))...), "authorizations.rules"},
		"values about reading the workspace":     {documentOf(t, values(900)), ""},
		"too many about reading the workspace":   {documentOf(t, values(900), values(900)), "authorizations.rules"},
		"as many about something else than that": {documentOf(t, repeated(2, ruleOn("pages", map[string]string{"name": "a{150}"}))...), ""},
	} {
		_, err := access.ParseSecurity([]byte(c.document))
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", name, errs.From(err).Fields)
			}
			continue
		}
		if errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := errs.From(err).Fields[0].Field; got != c.refused {
			t.Errorf("%s: %s, want %s", name, got, c.refused)
		}
	}
}

// largest is a document of everything that is allowed, of which much is about reading the workspace.
func largest(t *testing.T) string {
	t.Helper()
	list := make([]string, 900)
	for i := range list {
		list[i] = fmt.Sprintf("value-%06d", i)
	}
	open := map[string]any{"action": "read", "subject": "workspaces", "conditions": map[string]any{"name": map[string]any{"$in": list}}}
	rules := append([]map[string]any{open}, repeated(4, ruleOn("workspaces", map[string]string{"labels": "(a|b|${user.id}){1,8}$"}))...)
	rules = append(rules, repeated(9, ruleOn("files", map[string]string{"name": strings.Repeat("a{200}", 9)}))...)
	return documentOf(t, append(rules, repeated(900, ruleOn("pages", nil))...)...)
}

// Whatever others write into the documents of their workspaces, a list of workspaces is right and has few parameters.
func TestListAmongDocumentsOfOthers(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		ctx := h.t.Context()
		setup(h.t, h.db, `CREATE TABLE workspaces_of_test (id TEXT)`, `INSERT INTO workspaces_of_test (id) VALUES ('w'), ('other'), ('broken'), ('named')`)
		h.tx(func(tx *sqldb.Tx) error {
			for _, id := range []string{"other", "broken", "named"} {
				if err := access.Grant(h.as("tenant"), tx, id, access.Owner); err != nil {
					return err
				}
				if _, err := h.e.SaveSecurity(h.as("admin"), tx, access.SecurityChange{WorkspaceID: id, Document: []byte(largest(h.t))}); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, `UPDATE access_security SET reading = '{', digest = 'broken' WHERE workspace_id = 'broken'`); err != nil {
				return err
			}
			for i := range 200 {
				for _, statement := range []string{
					`INSERT INTO access_security (workspace_id, document, digest, revision, updated_at, updated_by, opens_reading, reading)
						SELECT $1, document, digest, revision, updated_at, updated_by, opens_reading, reading FROM access_security WHERE workspace_id = 'other'`,
					`INSERT INTO workspaces_of_test (id) VALUES ($1)`,
				} {
					if _, err := tx.Exec(ctx, statement, fmt.Sprintf("other-%03d", i)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		fields := func(_ context.Context, _ sqldb.Reader, ids []string) (map[string]access.Object, error) {
			objects := map[string]access.Object{}
			for _, id := range ids {
				objects[id] = access.Fields{"id": id, "name": "some name", "labels": []string{"x"}}
			}
			objects["named"] = access.Fields{"id": "named", "name": "value-000899"}
			return objects, nil
		}
		for user, want := range map[string]int{"stranger": 1, "reader": 2, "tenant": 2, "nobody": 1, "admin": 204} {
			f, err := h.e.Workspaces(h.as(user), h.db, access.List{Dialect: access.Dialect(h.db.Driver()), First: 1, Columns: map[string]access.Column{"id": {SQL: "t.id"}}}, fields)
			h.must(err)
			var n int
			h.must(h.db.QueryRow(ctx, `SELECT COUNT(*) FROM workspaces_of_test AS t WHERE `+f.SQL, f.Args...).Scan(&n))
			if n != want || len(f.Args) > 3 {
				h.t.Errorf("%s: %d workspaces, want %d; %d parameters", user, n, want, len(f.Args))
			}
		}
	})
}

// Who may write the rules but is no owner cannot take the workspace from its owners.
func TestTakeover(t *testing.T) {
	t.Parallel()
	const guard = "    - {role: reader, action: [manage_security, manage_permissions, read, update], subject: workspaces}\n    - {role: reader, action: read, subject: files}\n"
	eachHouse(t, guard, func(h *house) {
		for _, rule := range []string{
			"{action: update, subject: workspaces, inverted: true}",
			"{action: update, subject: workspaces, inverted: true, conditions: {createdBy: '${user.id}'}}",
			"{action: read, subject: files, inverted: true}",
			"{role: [reader, member], action: update, subject: workspaces, inverted: true}",
		} {
			if err := h.save("reader", houseFile+guard+"    - "+rule+"\n"); errs.CodeOf(err) != errs.PermissionDenied {
				h.t.Errorf("%s: %v", rule, err)
			}
		}
		everyone := access.ObjectGrant{SubjectType: "workspaces", Target: "*", Role: "reader"}
		deny := houseFile + guard + "    - {role: reader, action: update, subject: workspaces, inverted: true}\n"
		h.must(h.save("owner", houseFile+guard+"    - {role: editor, action: read, subject: workspaces}\n    - {role: editor, action: update, subject: workspaces, inverted: true}\n"))
		if err := h.share("reader", access.ObjectGrant{SubjectType: "workspaces", Target: "*", Role: "editor"}); errs.CodeOf(err) != errs.PermissionDenied {
			h.t.Errorf("everyone, owners included, is given a role that denies: %v", err)
		}
		h.must(h.save("owner", houseFile+guard))
		h.must(h.save("reader", deny))
		if err := errs.From(h.share("owner", everyone)); err.Code != errs.Conflict || err.Details["reason"] != "lockout" {
			h.t.Errorf("an owner locks owners out by sharing: %v", err)
		}
		h.must(h.save("owner", houseFile+guard))
		h.must(h.share("owner", everyone))
		if err := h.save("reader", deny); errs.CodeOf(err) != errs.PermissionDenied {
			h.t.Errorf("a role that everyone has denies: %v", err)
		}
		if err := errs.From(h.save("owner", deny)); err.Code != errs.Conflict || err.Details["reason"] != "lockout" {
			h.t.Errorf("an owner writes the same: %v", err)
		}
		h.may("owner", "update", "workspaces", nil, true)
	})
}

// Whoever writes the rules keeps what it takes to write them again.
func TestWritersKeepTheirRights(t *testing.T) {
	t.Parallel()
	const guard = "    - {role: reader, action: [manage_security, manage_permissions, read], subject: workspaces}\n"
	eachHouse(t, guard, func(h *house) {
		for _, action := range []string{"manage_security", "manage_permissions"} {
			err := errs.From(h.save("reader", houseFile+guard+"    - {role: reader, action: "+action+", subject: workspaces, inverted: true}\n"))
			if err.Code != errs.Conflict || err.Details["reason"] != "lockout" {
				h.t.Errorf("%s: %v", action, err)
			}
		}
	})
}

// Members have what everyone has, besides what they have themselves.
func TestRoleOfEveryone(t *testing.T) {
	t.Parallel()
	eachHouse(t, "    - {role: reader, action: read, subject: files}\n", func(h *house) {
		h.must(h.share("owner", access.ObjectGrant{SubjectType: "workspaces", Target: "*", Role: "reader"}))
		for user := range strings.FieldsSeq("nobody stranger visitor member editor reader owner") {
			h.may(user, "read", "files", file(nil), true)
		}
		h.may("editor", "update", "workspaces", nil, true)
		if got := h.load(h.as("editor"), "w").Roles(); len(got) != 2 || got[0] != "editor" {
			h.t.Errorf("the own role is not the first: %v", got)
		}
	})
}

// counted counts the queries that go through a reader.
type counted struct {
	sqldb.Reader

	queries []string
}

func (c *counted) QueryRow(ctx context.Context, query string, args ...any) *sqldb.Row {
	c.queries = append(c.queries, query)
	return c.Reader.QueryRow(ctx, query, args...)
}

// A workspace that does not exist takes the same queries as one without access, so that time does not tell them apart.
func TestAbsentWorkspacesTakeTheSame(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		h.load(h.as("stranger"), "w")
		here, absent := &counted{Reader: h.db}, &counted{Reader: h.db}
		for id, reader := range map[string]*counted{"w": here, "absent": absent} {
			_, err := h.e.Load(h.as("stranger"), reader, id)
			h.must(err)
		}
		if len(here.queries) == 0 || strings.Join(here.queries, ";") != strings.Join(absent.queries, ";") {
			h.t.Errorf("%v against %v", here.queries, absent.queries)
		}
	})
}

// An explanation of many rules tells the strongest, and decides by all.
func TestLongExplanation(t *testing.T) {
	t.Parallel()
	rules := "    - {action: read, subject: files}\n" + strings.Repeat("    - {action: read, subject: files, conditions: {name: a}}\n", 300)
	eachHouse(t, rules, func(h *house) {
		why := h.load(h.as("stranger"), "w").Explain("read", "files", file(nil))
		if !why.Allowed || *why.Decided.Index != 0 || len(why.Considered) != 200 || why.More != 101 {
			h.t.Errorf("%v %+v, %d and %d more", why.Allowed, why.Decided, len(why.Considered), why.More)
		}
	})
}
