package model_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/vault"
	workspaces "atelier/internal/workspaces/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is the service that keeps workspaces, and models of them, on a database of their own.
type house struct {
	t       testing.TB
	service *workspaces.Service
	source  *counted
	models  *model.Models
	who     access.Principal
}

// counted counts what is asked of a source.
type counted struct {
	model.Source

	stamps, loads atomic.Int64
	// loading, when given, is called before anything is read.
	loading func()
}

func (c *counted) Stamp(ctx context.Context, workspaceID string, apps []string) (assembly.Stamp, error) {
	c.stamps.Add(1)
	return c.Source.Stamp(ctx, workspaceID, apps)
}

func (c *counted) Load(ctx context.Context, workspaceID string) (*assembly.Tree, error) {
	c.loads.Add(1)
	if c.loading != nil {
		c.loading()
	}
	return c.Source.Load(ctx, workspaceID)
}

func migrations() []sqldb.Migrations {
	return []sqldb.Migrations{sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), workspaces.Migrations()}
}

// each runs a test on a new house, on every engine.
func each(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, newHouse(t, db)) }, migrations()...)
}

func environ(prefix string) map[string]string {
	return map[string]map[string]string{"ADDITIONAL_GLOBAL_VARS_": {"stage": "test", "workspaceId": "stolen"}}[prefix]
}

func newHouse(t testing.TB, db *sqldb.DB) *house {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	bus, err := sqlbus.Open(db, clk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	cursors, err := restapi.NewCursors("a key for tests, long enough to be one")
	if err != nil {
		t.Fatal(err)
	}
	key := vault.MasterKey{ID: "first"}
	copy(key.Key[:], strings.Repeat("k", 32))
	sealed, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	rules, log := access.NewEnforcer(clk), slog.New(slog.DiscardHandler)
	h := &house{t: t, who: access.Principal{
		Kind: access.User, Credential: access.BySession, UserID: "ann", SessionID: "session", Scopes: access.Scopes(), SuperAdmin: true,
		AuthData: map[string]map[string]any{"svc": {"id": "ann"}},
	}}
	h.service = workspaces.New(workspaces.Deps{
		Log: log, Clock: clk, DB: db, Bus: bus, Cursors: cursors, Access: rules, Keys: access.NewKeys(clk, ident.Source{}), MaxBody: 1 << 20,
		LockTimeout: time.Minute, BinAge: time.Hour, HistoryAge: time.Hour, Vault: sealed, Environ: environ,
	})
	if err := h.service.Prepare(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	h.source = &counted{Source: workspaces.NewDefinitions(workspaces.DefinitionsDeps{
		DB: db, Bus: bus, Clock: clk, Access: rules, Vault: sealed, Environ: environ,
	})}
	h.models, err = model.New(model.Deps{
		Log: log, Source: h.source, Instructions: instructions.Control(), Environ: environ, Builtins: builtins(),
		Addresses: model.Addresses{API: "https://api.test/v2", Studio: "https://studio.test", PagesHost: ".pages.test", PagesScheme: "https://"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func builtins() map[string]model.Builtin {
	return map[string]model.Builtin{"Custom Code": {
		Slug: "Custom Code",
		Methods: func(home *machine.Home) map[string]func(*machine.Frame, *value.Object) (any, error) {
			return map[string]func(*machine.Frame, *value.Object) (any, error){
				"run": func(*machine.Frame, *value.Object) (any, error) { return home.FullSlug, nil },
			}
		},
	}}
}

// do sends a request, and gives the field id of the answer.
func (h *house) do(method, path string, body any) string {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(access.With(h.t.Context(), h.who), method, path, strings.NewReader(string(text)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.service.API.Handler().ServeHTTP(w, r)
	if w.Code >= 300 {
		h.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	var said struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &said)
	return said.ID
}

// object is the body of a request.
type object = map[string]any

// workspace makes a workspace, and gives its id.
func (h *house) workspace(slug string) string {
	h.t.Helper()
	return h.do("POST", "/v2/workspaces", object{"name": "Of " + slug, "slug": slug, "description": "x", "photo": "https://example.test/p.png"})
}

// automation puts an automation into a workspace.
func (h *house) automation(id, slug string, more object) {
	h.t.Helper()
	body := object{"name": slug, "do": []any{}}
	maps.Copy(body, more)
	h.do("PUT", "/v2/workspaces/"+id+"/automations/"+strings.ReplaceAll(slug, " ", "%20"), body)
}

func (h *house) install(id, app, slug string, config object) {
	h.t.Helper()
	h.do("POST", "/v2/workspaces/"+id+"/apps", object{"appSlug": app, "slug": slug, "config": config})
}

func (h *house) publish(id, app string) {
	h.t.Helper()
	h.do("POST", "/v2/apps", object{"workspaceId": id, "slug": app})
}

func (h *house) of(id string) *model.Model {
	h.t.Helper()
	m, err := h.models.Of(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

// slugs are the full slugs of automations.
func slugs(all []*machine.Automation) []string {
	made := []string{}
	for _, a := range all {
		made = append(made, a.FullSlug())
	}
	return made
}

func shown(v any) string {
	text, _ := value.JSON(v, "", 1<<20)
	return text
}
