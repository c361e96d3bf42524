package access_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

const things = `CREATE TABLE things (n BIGINT NOT NULL, id TEXT, workspace_id TEXT, name TEXT, mimetype TEXT, size BIGINT, public BIGINT,
	created_by TEXT, metadata TEXT)`

// thing is a row: a file of a workspace. Nil is NULL.
type thing struct {
	id, workspace, name, mimetype, createdBy *string
	size                                     *int64
	public                                   *bool
	metadata                                 *string
}

func (f thing) object(t require) access.Object {
	fields := access.Fields{}
	for key, v := range map[string]*string{
		"id": f.id, "workspaceId": f.workspace, "name": f.name, "mimetype": f.mimetype, "createdBy": f.createdBy,
	} {
		if v != nil {
			fields[key] = *v
		}
	}
	if f.size != nil {
		fields["size"] = *f.size
	}
	if f.public != nil {
		fields["public"] = *f.public
	}
	if f.metadata != nil {
		var v any
		if err := json.Unmarshal([]byte(*f.metadata), &v); err != nil {
			t.Fatal(err)
		}
		fields["metadata"] = v
	}
	return fields
}

type require interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func files(db *sqldb.DB, first int) access.List {
	return access.List{Dialect: access.Dialect(db.Driver()), First: first, Columns: map[string]access.Column{
		"id": {SQL: "id"}, "workspaceId": {SQL: "workspace_id"}, "name": {SQL: "name"}, "mimetype": {SQL: "mimetype"},
		"size": {SQL: "size", Kind: access.Number}, "public": {SQL: "public", Kind: access.Bool}, "createdBy": {SQL: "created_by"},
		"metadata": {SQL: "metadata", Kind: access.JSON},
	}}
}

func setup(t testing.TB, db *sqldb.DB, statements ...string) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// For random rules, callers and rows: the rows that the filter gives are the rows that the decision allows.
func TestFilterIsTheDecision(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		setup(t, db, things)
		e := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
		admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true})
		inTx(t, db, func(tx *sqldb.Tx) error {
			for user, role := range map[string]access.Role{"owner": access.Owner, "editor": access.Editor, "reader": "reader"} {
				ctx := as(t.Context(), access.Principal{Kind: access.User, UserID: user})
				if err := access.Grant(ctx, tx, "w", role); err != nil {
					return err
				}
			}
			return nil
		})
		rapid.Check(t, func(rt *rapid.T) {
			document := genDocument().Draw(rt, "document")
			rows := rapid.SliceOfN(genThing(), 1, 12).Draw(rt, "rows")
			caller := rapid.SampledFrom(somePrincipals()).Draw(rt, "caller")
			err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
				if _, err := e.SaveSecurity(admin, tx, access.SecurityChange{WorkspaceID: "w", Document: document}); err != nil {
					return err
				}
				return replaceThings(t.Context(), tx, rows)
			})
			if err != nil {
				rt.Fatalf("%s: %v", document, err)
			}
			agree(rt, db, e, as(t.Context(), caller), rows)
		})
	}, access.Migrations())
}

func agree(rt *rapid.T, db *sqldb.DB, e *access.Enforcer, ctx context.Context, rows []thing) {
	rt.Helper()
	a, err := e.Load(ctx, db, "w")
	if err != nil {
		rt.Fatal(err)
	}
	for _, action := range []string{access.ActionRead, access.ActionCreate, access.ActionDelete} {
		var want []int64
		for i, row := range rows {
			decision := a.Decide(action, access.SubjectFiles, row.object(rt))
			if decision.Allowed {
				want = append(want, int64(i))
			}
			if why := a.Explain(action, access.SubjectFiles, row.object(rt)); why.Allowed != decision.Allowed || (why.Decided == nil) != (decision.Rule == nil) {
				rt.Fatalf("explained %+v, decided %+v", why, decision)
			}
		}
		for _, known := range []map[string]string{nil, {"workspaceId": "w"}} {
			list := files(db, 3)
			where, wanted := "1 = $1", want
			if list.Known = known; known != nil {
				where, wanted = "1 = $1 AND workspace_id = 'w'", slices.DeleteFunc(slices.Clone(want), func(i int64) bool {
					return rows[i].workspace == nil || *rows[i].workspace != "w"
				})
			}
			f, err := a.Filter(action, access.SubjectFiles, list)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := sqldb.All(ctx, db, func(r *sql.Rows) (n int64, err error) { return n, r.Scan(&n) },
				`SELECT n FROM things WHERE `+where+` AND n < $2 AND `+f.SQL+` ORDER BY n`, append([]any{int64(1), int64(1_000_000)}, f.Args...)...)
			if err != nil {
				rt.Fatalf("%v\n%s", err, f.SQL)
			}
			if !slices.Equal(got, wanted) {
				rt.Fatalf("%s: the filter gives %v, the decision %v\n%s\n%v", action, got, wanted, f.SQL, f.Args)
			}
		}
	}
}

func replaceThings(ctx context.Context, tx *sqldb.Tx, rows []thing) error {
	if _, err := tx.Exec(ctx, `DELETE FROM things`); err != nil {
		return err
	}
	for i, f := range rows {
		var public *int64
		if f.public != nil {
			public = new(int64)
			if *f.public {
				*public = 1
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO things (n, id, workspace_id, name, mimetype, size, public, created_by, metadata)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, int64(i), f.id, f.workspace, f.name, f.mimetype, f.size, public, f.createdBy, f.metadata)
		if err != nil {
			return err
		}
	}
	return nil
}

func somePrincipals() []access.Principal {
	data := map[string]map[string]any{
		"svc":  {"email": "a@b.c", "groups": []any{"a", "b"}, "n": json.Number("1.5"), "odd": `a.*(`},
		"saml": {"email": "a", "list": []any{map[string]any{"k": "a"}}},
	}
	return []access.Principal{
		{},
		{Kind: access.User, UserID: "owner"},
		{Kind: access.User, UserID: "editor", SessionID: "a"},
		{Kind: access.User, UserID: "reader", SessionID: "s", AuthData: data},
		{Kind: access.User, UserID: "a", SessionID: "b", AuthData: data},
		{Kind: access.Anonymous, UserID: "b", SessionID: "a", AuthData: map[string]map[string]any{"anonymous": {}}},
		{Kind: access.User, UserID: "admin", SuperAdmin: true},
		{Kind: access.Internal},
	}
}

func genText() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "a", "b", "ab", "A", "aa", "é", "É", "a.b", "a*(", "svc_a", "ſ", "a\nb", "😀", "1.5", "true", "%", "_", "'", `"`, `\`})
}

func genNumber() *rapid.Generator[any] {
	return rapid.SampledFrom([]any{int64(0), int64(1), int64(-1), 1.5, int64(9007199254740993), int64(9007199254740992), -2.25, 1e15, 0.1, int64(10)})
}

func genScalar() *rapid.Generator[any] {
	return rapid.OneOf(genText().AsAny(), genText().AsAny(), genNumber(), rapid.Bool().AsAny(), rapid.Just[any](nil))
}

func genKey() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "0", "a-b", "k:1"})
}

// genValue makes JSON of at most a depth.
func genValue(depth int) *rapid.Generator[any] {
	if depth == 0 {
		return genScalar()
	}
	return rapid.OneOf(
		genScalar(),
		rapid.Map(rapid.SliceOfN(genValue(depth-1), 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.OneOf(genKey(), rapid.Just("a.b")), genValue(depth-1), 0, 3), func(v map[string]any) any { return v }),
	)
}

func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.OneOf(rapid.Ptr(g, false), rapid.Ptr(g, true))
}

func genThing() *rapid.Generator[thing] {
	return rapid.Custom(func(rt *rapid.T) thing {
		f := thing{
			id: maybe(genText()).Draw(rt, "id"), name: maybe(genText()).Draw(rt, "name"), mimetype: maybe(genText()).Draw(rt, "mimetype"),
			createdBy: maybe(genText()).Draw(rt, "createdBy"), size: maybe(rapid.SampledFrom([]int64{0, 1, -1, 10, 1e15})).Draw(rt, "size"),
			public: maybe(rapid.Bool()).Draw(rt, "public"), workspace: maybe(rapid.SampledFrom([]string{"w", "w", "w", "w", "v"})).Draw(rt, "workspace"),
		}
		text, err := json.Marshal(genValue(4).Draw(rt, "metadata"))
		if err != nil {
			rt.Fatal(err)
		}
		s := string(text)
		for old, odd := range map[string]string{"-2.25": "1e400", "0.1": "0.1000000000000000055511151231257827"} {
			s = strings.ReplaceAll(s, old, odd)
		}
		var v any
		if json.Unmarshal([]byte(s), &v) != nil { // 1e400 is no float64
			s = string(text)
		}
		if rapid.IntRange(0, 9).Draw(rt, "no metadata") > 0 {
			f.metadata = &s
		}
		return f
	})
}

func genPattern() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"^a", "b$", "(?i)^AB$", "", "^$", "[^a]", "^.$", "(?s)^a.b$", `^\p{Lu}`, "a{1,2}", "(?i)s", "${user.id}", "^{{user.authData.svc.odd}}$",
		`^${user.authData.svc.email}`, `\.`, "a|é",
	})
}

func genOperand() *rapid.Generator[any] {
	return rapid.OneOf(genScalar(), genScalar(), genScalar(), rapid.SampledFrom([]any{
		"${user.id}", "{{session.id}}", "${user.role}", "${user.authData.svc.email}", "x${user.id}", "${user.authData.svc.n}", "${subject.id}",
		"${user.authData.svc.groups}",
	}))
}

func genTests(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(rt *rapid.T) any {
		if rapid.IntRange(0, 3).Draw(rt, "form") == 0 {
			return genOperand().Draw(rt, "equals")
		}
		tests := map[string]any{}
		for range rapid.IntRange(1, 2).Draw(rt, "operators") {
			op := rapid.SampledFrom([]string{
				"$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte", "$all", "$size", "$regex", "$elemMatch", "$exists",
			}).Draw(rt, "operator")
			switch op {
			case "$eq", "$ne":
				tests[op] = genOperand().Draw(rt, "operand")
			case "$lt", "$lte", "$gt", "$gte":
				tests[op] = rapid.OneOf(genText().AsAny(), genNumber(), rapid.Just[any]("${user.id}")).Draw(rt, "operand")
			case "$in", "$nin", "$all":
				list := func(v []any) any { return v }
				tests[op] = rapid.OneOf(rapid.Just[any]("${user.authData.svc.groups}"), rapid.Map(rapid.SliceOfN(genOperand(), 0, 3), list),
					rapid.Map(rapid.SliceOfN(genOperand(), 60, 60), list)).Draw(rt, "list") // long enough to be one parameter
			case "$size":
				tests[op] = rapid.IntRange(0, 3).Draw(rt, "size")
			case "$regex":
				tests[op] = genPattern().Draw(rt, "pattern")
			case "$exists":
				tests[op] = rapid.Bool().Draw(rt, "exists")
			case "$elemMatch":
				if depth == 0 {
					tests["$exists"] = true
					continue
				}
				if rapid.Bool().Draw(rt, "self") {
					if inner, ok := genTests(depth-1).Draw(rt, "self tests").(map[string]any); ok {
						tests[op] = inner
						continue
					}
				}
				tests[op] = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "a.b", "0"}), genTests(depth-1), 1, 2).Draw(rt, "fields")
			}
		}
		return tests
	})
}

func genConditions() *rapid.Generator[map[string]any] {
	paths := []string{
		"id", "name", "mimetype", "size", "public", "createdBy", "metadata", "metadata.a", "metadata.b", "metadata.a.b", "metadata.0", "metadata.a-b",
		"metadata.a.0", "name.a", "metadata.${user.id}", "metadata.${user.authData.svc.odd}", "workspaceId",
	}
	return rapid.MapOfN(rapid.SampledFrom(paths), genTests(2), 0, 2)
}

// genDocument makes a valid document with rules on files.
func genDocument() *rapid.Generator[[]byte] {
	return rapid.Custom(func(rt *rapid.T) []byte {
		rules := []any{}
		for range rapid.IntRange(0, 6).Draw(rt, "rules") {
			rule := map[string]any{
				"action":  rapid.SampledFrom([]any{"read", "manage", []any{"read", "create"}, "delete"}).Draw(rt, "action"),
				"subject": rapid.SampledFrom([]any{"files", []any{"files"}}).Draw(rt, "subject"),
			}
			if role := rapid.SampledFrom([]any{nil, "editor", "reader", "member", []any{"reader", "member"}}).Draw(rt, "role"); role != nil {
				rule["role"] = role
			}
			if conditions := genConditions().Draw(rt, "conditions"); len(conditions) > 0 {
				rule["conditions"] = conditions
			}
			if rapid.IntRange(0, 2).Draw(rt, "inverted") == 0 {
				rule["inverted"] = true
			}
			if rapid.IntRange(0, 5).Draw(rt, "with fields") == 0 {
				rule["fields"] = []any{"name"}
			}
			rules = append(rules, rule)
		}
		document, err := json.Marshal(map[string]any{"authorizations": map[string]any{
			"roles": map[string]any{
				"reader": map[string]any{}, "member": map[string]any{"auth": map[string]any{"svc": map[string]any{
					"conditions": map[string]any{"authData.email": map[string]any{"$regex": "@b"}},
				}}},
			},
			"rules": rules,
		}})
		if err != nil {
			rt.Fatal(err)
		}
		return document
	})
}

// Every regular expression that is accepted matches the same texts in Go and in both engines.
func TestPatternsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	patterns := []string{
		"", "^$", "^a", "a$", ".", "(?s).", "(?s)^.$", "^.$", "(?m)^b$", `(?m)^$`, `\bfoo\b`, `\Bo`, `[^a]`, `a{2,3}`, `^(?:ab){2,}$`, `(a|b|)c`, `\d+\.\d*`, `[[:alpha:]]+`,
		`[[:^alpha:]]`, `\p{Lu}`, `\P{L}`, `\p{Greek}`, `(?i)straße`, `(?i)k`, `(?i)[k-l]`, `\x{1F600}`, `\x{10FFFF}`, `\x00`, `[\x00-a]`, `[^\x00]`, `[]^-]`, `[\]\\^-]`, `\\`, `\Qa.b\E`, `\A\z`, `^\s*$`, `\w\W`,
		`[^\n]$`, `a*?b`, `(?U)a+`, `(?:)`, `(?:)*`, `a**`, `(a*)*`, `^(a?){20}a{20}$`, `\t|\r`, `^apikeys\.`, `^(?:$|[^s]|s(?:$|[^v]|v(?:$|[^c]|c(?:$|[^_]))))`, `\*\*\*:a`, `(?i)ſ`, `\pN`, `[a-]`, `é`, `^[à-ÿ]+$`,
		`[^\x00-\x{10FFFF}]`, `a{0}`, `a{0,0}b`, `(?i)ǆ`, `\C|a`, `--`, `\/`, `(?P<name>a)b`, `^(?:a|b(?m:^c))`, `x{255}`,
	}
	texts := []string{
		"", "a", "b", "c", "ab", "abab", "aab", "aaa", "aaaa", "foo", "a foo b", "foobar", "x\nb\ny", "\n", "a\n", "1.5", "12.", "K", "k", "K", "STRASSE", "straße", "STRAßE", "é", "É", "àé", "😀", "\U0010FFFF",
		"Σ", "σ", "ς", "ſ", "S", "s", "svc_x", "svc", "sv", "apikeys.created", "apikeysx", "]", "^", "-", "\\", "a.b", "a-b", "_", " ", "\t", "\r\n", "٣", "ǆ", "ǅ", "Ǆ", "***:a", "(", "[", "{", "|", "+", strings.Repeat("a", 20),
		strings.Repeat("x", 255), "\u2028", "\u0085", "bc", "b\nc", "a/b", "--",
	}
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		setup(t, db, things)
		e := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
		admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true})
		stranger := as(t.Context(), access.Principal{Kind: access.User, UserID: "stranger"})
		rows := make([]thing, len(texts))
		for i := range texts {
			w := "w"
			rows[i] = thing{workspace: &w, name: &texts[i]}
		}
		inTx(t, db, func(tx *sqldb.Tx) error { return replaceThings(t.Context(), tx, rows) })
		for _, pattern := range patterns {
			document, _ := json.Marshal(map[string]any{"authorizations": map[string]any{"rules": []any{map[string]any{
				"action": "read", "subject": "files", "conditions": map[string]any{"name": map[string]any{"$regex": pattern}},
			}}}})
			if _, err := access.ParseSecurity(document); err != nil {
				if pattern != `\C|a` && pattern != `a**` {
					t.Errorf("%s: %v", pattern, err)
				}
				continue
			}
			inTx(t, db, func(tx *sqldb.Tx) error {
				_, err := e.SaveSecurity(admin, tx, access.SecurityChange{WorkspaceID: "w", Document: document})
				return err
			})
			a, err := e.Load(stranger, db, "w")
			if err != nil {
				t.Fatal(err)
			}
			f, err := a.Filter(access.ActionRead, access.SubjectFiles, files(db, 1))
			if err != nil {
				t.Fatal(err)
			}
			got, err := sqldb.All(t.Context(), db, func(r *sql.Rows) (n int64, err error) { return n, r.Scan(&n) },
				`SELECT n FROM things WHERE `+f.SQL+` ORDER BY n`, f.Args...)
			if err != nil {
				t.Errorf("%s: %v %v", pattern, err, f.Args)
				continue
			}
			for i, row := range rows {
				if want := a.Decide(access.ActionRead, access.SubjectFiles, row.object(t)).Allowed; want != slices.Contains(got, int64(i)) {
					t.Errorf("%s on %q: %v in Go, not in the engine; %v", pattern, texts[i], want, f.Args)
				}
			}
		}
	}, access.Migrations())
}

// A filter of as many rules as a document may have is one that the engines take.
func TestLargestFilter(t *testing.T) {
	t.Parallel()
	rules := make([]any, 1000)
	for i := range rules {
		rules[i] = map[string]any{
			"action": "read", "subject": "files", "inverted": i%2 == 0,
			"conditions": map[string]any{"name": fmt.Sprint(i), "metadata.a": map[string]any{"$in": []any{"x", i, true}}},
		}
	}
	document, _ := json.Marshal(map[string]any{"authorizations": map[string]any{"rules": rules}})
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		setup(t, db, things)
		e := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
		admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true})
		w, name, metadata := "w", "501", `{"a":501}`
		inTx(t, db, func(tx *sqldb.Tx) error {
			if _, err := e.SaveSecurity(admin, tx, access.SecurityChange{WorkspaceID: "w", Document: document}); err != nil {
				return err
			}
			return replaceThings(t.Context(), tx, []thing{{workspace: &w, name: &name, metadata: &metadata}, {workspace: &w, name: &name}})
		})
		a, err := e.Load(as(t.Context(), access.Principal{Kind: access.User, UserID: "x"}), db, "w")
		if err != nil {
			t.Fatal(err)
		}
		f, err := a.Filter(access.ActionRead, access.SubjectFiles, files(db, 1))
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM things WHERE `+f.SQL, f.Args...).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	}, access.Migrations())
}

// A list that lacks a column for a condition fails instead of showing what a rule would hide.
func TestFilterNeedsEveryColumn(t *testing.T) {
	t.Parallel()
	for _, subject := range access.Subjects() {
		if len(access.ConditionFields(subject)) == 0 {
			t.Errorf("%s: no fields", subject)
		}
	}
	db := sqldbtest.SQLite(t, access.Migrations())
	e := access.NewEnforcer(clock.NewManual(time.Unix(1_800_000_000, 0)))
	admin := as(t.Context(), access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true})
	inTx(t, db, func(tx *sqldb.Tx) error {
		_, err := e.SaveSecurity(admin, tx, access.SecurityChange{WorkspaceID: "w", Document: []byte(
			"authorizations: {rules: [{action: read, subject: files, conditions: {mimetype: a}}]}")})
		return err
	})
	a, err := e.Load(as(t.Context(), access.Principal{Kind: access.User, UserID: "x"}), db, "w")
	if err != nil {
		t.Fatal(err)
	}
	list := files(db, 1)
	list.Columns = maps.Clone(list.Columns)
	delete(list.Columns, "mimetype")
	if f, err := a.Filter(access.ActionRead, access.SubjectFiles, list); err == nil || !f.Nothing {
		t.Errorf("%+v %v", f, err)
	}
}
