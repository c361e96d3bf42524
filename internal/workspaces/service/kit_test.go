package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue/cataloguetest"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/vault"
	"atelier/internal/workspaces/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is the service on a database of its own, behind no gateway: a test says who calls.
type house struct {
	t      *testing.T
	db     *sqldb.DB
	clk    *clock.Manual
	keys   *access.Keys
	people people
	deps   service.Deps
	built  *service.Service
	door   http.Handler
}

// each runs a test on a new house, on every engine.
func each(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, newHouse(t, db)) },
		sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations())
}

func newHouse(t *testing.T, db *sqldb.DB) *house {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	log, err := sqlbus.Open(db, clk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	cataloguetest.Stored(t, db)
	cursors, err := restapi.NewCursors("a key for tests, long enough to be one")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, db: db, clk: clk, keys: access.NewKeys(clk, ident.Source{}), people: people{}}
	h.deps = service.Deps{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Clock: clk, DB: db, Bus: log, Cursors: cursors,
		Access: access.NewEnforcer(clk), Keys: h.keys, People: h.people, MaxBody: 1 << 20, LockTimeout: 30 * time.Minute, BinAge: 30 * 24 * time.Hour, HistoryAge: 90 * 24 * time.Hour, Vault: newVault(t, "first"),
	}
	h.open()
	return h
}

// open puts the service together, or anew with what a test has changed of its parts.
func (h *house) open() {
	h.t.Helper()
	built := service.New(h.deps)
	if err := built.Prepare(h.t.Context(), true); err != nil {
		h.t.Fatal(err)
	}
	h.built, h.door = built, built.API.Handler()
}

// newVault seals with the first of some master keys, which are made from their names.
func newVault(t *testing.T, ids ...string) *vault.Vault {
	t.Helper()
	var keys []vault.MasterKey
	for _, id := range ids {
		key := vault.MasterKey{ID: id}
		copy(key.Key[:], strings.Repeat(id, 32))
		keys = append(keys, key)
	}
	v, err := vault.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// people is the directory of a test.
type people map[string]access.Principal

func (p people) Names(_ context.Context, _ sqldb.Reader, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		if _, ok := p[id]; ok {
			names[id] = "Name of " + id
		}
	}
	return names, nil
}

func (p people) Principal(_ context.Context, _ sqldb.Reader, userID string) (access.Principal, error) {
	who, ok := p[userID]
	if !ok {
		return access.Principal{}, errs.Missing("users", userID)
	}
	return who, nil
}

func (p people) ByEmail(_ context.Context, _ sqldb.Reader, email string) (string, error) {
	id, _, _ := strings.Cut(email, "@")
	if _, ok := p[id]; !ok {
		return "", nil
	}
	return id, nil
}

// user makes an account that signed in with a password and an address.
func (h *house) user(id string) *caller {
	who := access.Principal{
		Kind: access.User, Credential: access.BySession, UserID: id, SessionID: "session-" + id, Scopes: access.Scopes(),
		AuthData: map[string]map[string]any{"svc": {"id": id, "email": id + "@example.test"}},
	}
	h.people[id] = who
	return h.as(who)
}

func (h *house) superAdmin() *caller {
	c := h.user("root")
	c.who.SuperAdmin = true
	h.people["root"] = c.who
	return c
}

func (h *house) visitor() *caller {
	return h.as(access.Principal{
		Kind: access.Anonymous, Credential: access.BySession, UserID: "visitor", SessionID: "visit", Scopes: access.VisitorScopes(),
		AuthData: map[string]map[string]any{"anonymous": {}},
	})
}

// key calls with an API key, the way the gateway finds it; the secret must be good.
func (h *house) key(secret string) *caller {
	h.t.Helper()
	who, err := h.keys.Find(h.t.Context(), h.db, secret)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.as(who)
}

func (h *house) as(who access.Principal) *caller { return &caller{house: h, who: who} }

// caller sends requests as somebody.
type caller struct {
	house  *house
	who    access.Principal
	header http.Header
}

func (c *caller) with(name, value string) *caller {
	return &caller{house: c.house, who: c.who, header: http.Header{name: {value}}}
}

func (c *caller) get(path string) *answer { c.house.t.Helper(); return c.do(http.MethodGet, path, nil) }

func (c *caller) post(path string, body any) *answer {
	c.house.t.Helper()
	return c.do(http.MethodPost, path, body)
}

func (c *caller) put(path string, body any) *answer {
	c.house.t.Helper()
	return c.do(http.MethodPut, path, body)
}

func (c *caller) patch(path string, body any) *answer {
	c.house.t.Helper()
	return c.do(http.MethodPatch, path, body)
}

func (c *caller) delete(path string) *answer {
	c.house.t.Helper()
	return c.do(http.MethodDelete, path, nil)
}

// do sends a request. A body of type string is sent as it is; anything else as JSON.
func (c *caller) do(method, path string, body any) *answer {
	c.house.t.Helper()
	text, isText := body.(string)
	if body != nil && !isText {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.house.t.Fatal(err)
		}
		text = string(encoded)
	}
	r := httptest.NewRequestWithContext(access.With(c.house.t.Context(), c.who), method, path, strings.NewReader(text))
	maps.Copy(r.Header, c.header)
	if text != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	c.house.door.ServeHTTP(w, r)
	return &answer{t: c.house.t, what: method + " " + path + " as " + c.who.Key(), status: w.Code, header: w.Header(), body: w.Body}
}

// workspace makes a workspace and gives its address.
func (c *caller) workspace(name string) string {
	c.house.t.Helper()
	return "/v2/workspaces/" + c.post("/v2/workspaces", map[string]any{"name": name}).want(http.StatusCreated).text("id")
}

// share shares the workspace at an address with a user.
func (c *caller) share(at, userID string, permissions map[string]any) *answer {
	c.house.t.Helper()
	return c.post(at+"/permissions", map[string]any{"target": map[string]any{"id": userID}, "permissions": permissions})
}

// answer is what came back.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   *bytes.Buffer
}

func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d\n%s", a.what, a.status, status, a.body)
	}
	return a
}

func (a *answer) wantError(status int, code errs.Code) *answer {
	a.t.Helper()
	if a.status != status || a.text("error") != string(code) {
		a.t.Fatalf("%s: status %d, want %d %s\n%s", a.what, a.status, status, code, a.body)
	}
	return a
}

// wantField fails unless the answer names the field as wrong.
func (a *answer) wantField(name string) *answer {
	a.t.Helper()
	fields, _ := a.at("details.errors").([]any)
	for _, f := range fields {
		if f.(map[string]any)["field"] == name {
			return a
		}
	}
	a.t.Fatalf("%s: %s is not named\n%s", a.what, name, a.body)
	return a
}

// at gives the value at a dotted path.
func (a *answer) at(path string) any {
	a.t.Helper()
	var value any
	if err := json.Unmarshal(a.body.Bytes(), &value); err != nil {
		a.t.Fatalf("%s: %v\n%s", a.what, err, a.body)
	}
	if path == "" {
		return value
	}
	for part := range strings.SplitSeq(path, ".") {
		switch in := value.(type) {
		case map[string]any:
			value = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(in) {
				return nil
			}
			value = in[i]
		default:
			return nil
		}
	}
	return value
}

func (a *answer) text(path string) string {
	a.t.Helper()
	if value := a.at(path); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// events reads what was stored of a type about the workspace at an address, the newest first.
func (h *house) events(at, eventType string) []envelope.Event {
	h.t.Helper()
	stored, err := sqlbus.Page(h.t.Context(), h.db, strings.TrimPrefix(at, "/v2/workspaces/"), sqlbus.PageQuery{Types: []string{eventType}})
	if err != nil {
		h.t.Fatal(err)
	}
	all := make([]envelope.Event, 0, len(stored))
	for _, s := range stored {
		event, err := envelope.Read(s)
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

// payload is that of the newest event of a type.
func (h *house) payload(at, eventType string) *answer {
	h.t.Helper()
	found := h.events(at, eventType)
	if len(found) == 0 {
		h.t.Fatalf("there is no event %s", eventType)
	}
	return &answer{t: h.t, what: eventType, body: bytes.NewBuffer(found[0].Payload)}
}

// pushed makes a workspace one whose content is in a repository.
func (h *house) pushed(at string) {
	h.t.Helper()
	err := h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(h.t.Context(), `UPDATE ws_workspaces SET pushed_revision = content_revision WHERE id = $1`, strings.TrimPrefix(at, "/v2/workspaces/"))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// tidy has the service do what it does once in a while.
func (h *house) tidy() {
	h.t.Helper()
	if err := h.built.TidyOnce(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}
