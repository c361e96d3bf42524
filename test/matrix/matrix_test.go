// Package matrix_test calls every operation as every kind of caller. The operations come from the router, so a new one
// without a row fails; what each caller gets comes from the operation's policy and scope and from the rules of the workspace.
package matrix_test

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/app"
	"atelier/internal/app/apptest"
	"atelier/internal/restapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is what a cell must show.
type outcome struct {
	admitted bool
	status   int
	code     string
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	table, cells := rows(), 0
	for _, op := range operations() {
		key := op.Method + " " + op.Path
		r, ok := table[key]
		if !ok {
			t.Errorf("%s is not in the matrix: add a row that says how it is called and who may", key)
			continue
		}
		delete(table, key)
		cells += w.refusals(op, r)
		cells += w.admissions(op, r)
	}
	for key := range table {
		t.Errorf("the matrix has %s, which does not exist", key)
	}
	if cells < 1000 {
		t.Errorf("only %d cells", cells)
	}
	t.Logf("%d cells", cells)
}

// operations are those of every service, as the router knows them.
func operations() []restapi.Operation {
	var all []restapi.Operation
	for _, api := range app.APIs() {
		all = append(all, api.Operations()...)
	}
	return all
}

// Operations without a credential are a list that is read by people: a new one is a decision.
func TestPublicOperations(t *testing.T) {
	t.Parallel()
	var public []string
	for _, op := range operations() {
		if op.Policy == access.Public || op.Policy == access.ByRules {
			public = append(public, op.Method+" "+op.Path+" ("+string(op.Policy)+")")
		}
	}
	slices.Sort(public)
	kept, err := os.ReadFile("testdata/public.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(kept)); strings.Join(public, "\n") != want {
		t.Errorf("the public operations are not those of testdata/public.txt:\n%s", strings.Join(public, "\n"))
	}
}

// The account and the platform are for the installation's own programs: a token that another's client got never reaches them.
func TestAccountsAndAdministrationNeedTheirScope(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, op := range operations() {
		if op.Policy != access.Accounts && op.Policy != access.SuperAdmins {
			continue
		}
		seen++
		if op.Scope != access.Account {
			t.Errorf("%s %s has the scope %q, want %q", op.Method, op.Path, op.Scope, access.Account)
		}
	}
	if seen == 0 {
		t.Error("there is no such operation: the test shows nothing")
	}
}

// Answers with a secret, and those about somebody's rights at one moment, are never kept to be repeated; nor is anything of
// a body with values that are to be secret.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`/(login|signup|password|validate|token|rotate|accessTokens|apikeys|explain|recovery-codes|mfa|passkey|options|links|service-accounts)\b`)
	for _, op := range operations() {
		given := op.Method == http.MethodPatch && strings.HasSuffix(op.Path, "/secrets")
		if (op.Method == http.MethodPost && !op.Hidden && secret.MatchString(op.Path) || given) && !op.Once {
			t.Errorf("%s %s would be kept for an Idempotency-Key", op.Method, op.Path)
		}
	}
}

// refusals calls as everybody who is not admitted, and looks that nothing has changed.
func (w *world) refusals(op restapi.Operation, r row) (cells int) {
	before := w.snapshot()
	for _, p := range w.principals {
		want := expect(op, r, p.name)
		if want.admitted {
			continue
		}
		cells++
		w.cell(op, r, p, want, p.call(w.Anyone()), w.params)
	}
	if after := w.snapshot(); after != before {
		w.t.Errorf("%s %s: refused calls changed something:\n%s\n%s", op.Method, op.Path, before, after)
	}
	return cells
}

// admissions calls as everybody who is admitted, with something to use up where the call does.
func (w *world) admissions(op restapi.Operation, r row) (cells int) {
	for _, p := range w.principals {
		want := expect(op, r, p.name)
		if !want.admitted {
			continue
		}
		cells++
		caller, params := p.call(w.Anyone()), w.params
		if r.fresh != nil && p.name != "none" {
			caller = r.fresh(w, p.name)
		}
		if r.prepare != nil {
			params = merged(params, r.prepare(w))
		}
		w.cell(op, r, p, want, caller, params)
		if r.action != "" && p.name == "admin" {
			w.foreignParts(op, r, caller)
		}
	}
	return cells
}

// cell makes one call and holds it against what is wanted, and against what explain says.
func (w *world) cell(op restapi.Operation, r row, p principal, want outcome, caller *apptest.Client, params map[string]string) {
	w.t.Helper()
	got := w.send(op, r, caller, merged(params, r.params))
	what := op.Method + " " + op.Path + " as " + p.name
	if got.Status != want.status || want.code != "" && got.Text("error") != want.code {
		w.t.Errorf("%s: %d %.200s, want %d %s", what, got.Status, got.Body, want.status, want.code)
	}
	if hidden := !slices.Contains([]string{"super", "keyW2"}, p.name); hidden && (strings.Contains(string(got.Body), foreign) || strings.Contains(string(got.Body), w.w2)) {
		w.t.Errorf("%s: something of the other workspace shows: %s", what, got.Body)
	}
	if r.action != "" && p.explain != nil && p.name != "low-scope" && passes(op.Policy, p.name) {
		answer := w.super.Post("/v2/workspaces/"+w.w+"/security/explain", map[string]any{"action": r.action, "subject": r.subject, "principal": p.explain})
		if answer.Status != http.StatusOK || (answer.Text("allowed") == "true") != want.admitted {
			w.t.Errorf("%s: explain says otherwise: %d %s", what, answer.Status, answer.Body)
		}
	}
}

// foreignParts calls with the parts of the other workspace under our own path: they do not exist here.
func (w *world) foreignParts(op restapi.Operation, r row, caller *apptest.Client) {
	w.t.Helper()
	for name, value := range w.others {
		if !strings.Contains(op.Path, "{"+name+"}") {
			continue
		}
		if got := w.send(op, r, caller, merged(w.params, map[string]string{name: value})); got.Status != http.StatusNotFound {
			w.t.Errorf("%s %s with %s of another workspace: %d %s", op.Method, op.Path, name, got.Status, got.Body)
		}
	}
}

var parameter = regexp.MustCompile(`\{[\w.]+\}`)

func (w *world) send(op restapi.Operation, r row, caller *apptest.Client, params map[string]string) *apptest.Response {
	w.t.Helper()
	path := parameter.ReplaceAllStringFunc(strings.TrimSuffix(op.Path, "{$}"), func(name string) string {
		value, ok := params[strings.Trim(name, "{}")]
		if !ok {
			w.t.Fatalf("%s %s: nothing stands for %s", op.Method, op.Path, name)
		}
		return value
	})
	if r.upload != "" {
		return caller.With("Content-Type", "multipart/form-data; boundary=b").Do(op.Method, path+r.query, r.upload)
	}
	if r.form != "" {
		return caller.With("Content-Type", "application/x-www-form-urlencoded").Do(op.Method, path+r.query, r.form)
	}
	return caller.Do(op.Method, path+r.query, r.body)
}

func merged(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, one := range parts {
		maps.Copy(all, one)
	}
	return all
}

// snapshot is what refused calls must not change.
func (w *world) snapshot() string {
	w.t.Helper()
	var all strings.Builder
	for _, path := range []string{"", "/security", "/security/apikeys", "/security/secrets", "/permissions", "/files", "/events?limit=1"} {
		all.Write(w.super.Get("/v2/workspaces/" + w.w + path).Want(http.StatusOK).Body)
	}
	all.Write(w.super.Post("/v2/contacts", map[string]any{}).Want(http.StatusOK).Body)
	all.Write(w.super.Get("/v2/service-accounts").Want(http.StatusOK).Body)
	all.WriteString(w.super.Get("/v2/workspaces").Want(http.StatusOK).Header.Get("X-Total-Count"))
	return all.String()
}
