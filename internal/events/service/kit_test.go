package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events/service"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is the workspace of every test; ann owns it, bob edits it. Its slug is at-home.
const home = "HomeId0"

// house is the service on a database of its own, behind no gateway: a test says who calls.
type house struct {
	t     *testing.T
	db    *sqldb.DB
	log   bus.Log
	rules *access.Enforcer
	keys  *access.Keys
	clock *ticking
	whole *service.Service
	door  http.Handler
	// index is a search engine's; nil when the log itself is searched. Dirty tells that the log has more than it.
	index *service.Index
	dirty atomic.Bool
	// following tells that the index follows by itself.
	following bool
	ann       *caller
	bob       *caller
	eve       *caller
	root      *caller
	nobody    *caller
}

func each(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, newHouse(t, db)) }, tables()...)
}

func newHouse(t *testing.T, db *sqldb.DB, change ...func(*service.Deps)) *house {
	t.Helper()
	clk := newTicking(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	log, err := sqlbus.Open(db, clk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	cursors, err := restapi.NewCursors("a key for tests, long enough to be one")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, db: db, log: log, clock: clk, rules: access.NewEnforcer(clk), keys: access.NewKeys(clk, ident.Source{})}
	deps := service.Deps{
		Log: quietly(t), Clock: clk, DB: db, Bus: log, Cursors: cursors, Access: h.rules,
		Resolve: resolve, MaxBody: 1 << 20, MaxLen: 100_000,
	}
	for _, set := range change {
		set(&deps)
	}
	h.whole, h.index = service.New(deps), deps.Index
	h.dirty.Store(true)
	h.door = h.whole.API.Handler()
	h.ann, h.bob, h.eve, h.nobody = h.user("ann"), h.user("bob"), h.user("eve"), h.as(access.Principal{})
	h.root = h.user("root")
	h.root.who.SuperAdmin = true
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		if err := access.Grant(access.With(ctx, h.ann.who), tx, home, access.Owner); err != nil {
			return err
		}
		if err := access.Grant(access.With(ctx, h.bob.who), tx, home, access.Editor); err != nil {
			return err
		}
		return h.rules.InitSecurity(ctx, tx, home)
	})
	return h
}

func resolve(_ context.Context, _ sqldb.Reader, ref string) (string, error) {
	if ref == "slug:at-home" {
		return home, nil
	}
	return ref, nil
}

func (h *house) tx(do func(ctx context.Context, tx *sqldb.Tx) error) {
	h.t.Helper()
	if err := h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error { return do(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// secure replaces the rules of the workspace.
func (h *house) secure(yaml string) {
	h.t.Helper()
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := h.rules.SaveSecurity(access.With(ctx, h.ann.who), tx, access.SecurityChange{
			WorkspaceID: home, Document: []byte(yaml), Workspace: access.Fields{"id": home},
		})
		return err
	})
}

// native stores an event of the platform, as a service does for ann.
func (h *house) native(eventType string) {
	h.t.Helper()
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		entry, _ := catalogue.Find(eventType)
		record, err := envelope.Native(access.With(ctx, h.ann.who), "workspaces", home, entry.Payload)
		if err != nil {
			return err
		}
		_, err = h.log.AppendTx(ctx, tx, record)
		return err
	})
	h.dirty.Store(true)
}

// key makes an API key of the workspace.
func (h *house) key(action, subject string) *caller {
	h.t.Helper()
	var secret string
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		ability, err := h.rules.Load(access.With(ctx, h.ann.who), tx, home)
		if err != nil {
			return err
		}
		rules, err := access.ParseKeyRules([]map[string]any{{"action": action, "subject": subject}})
		if err != nil {
			return err
		}
		_, secret, err = h.keys.Create(ctx, tx, ability, access.KeyRequest{Name: "x", Rules: rules})
		return err
	})
	who, err := h.keys.Find(h.t.Context(), h.db, secret)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.as(who)
}

func (h *house) user(id string) *caller {
	return h.as(access.Principal{
		Kind: access.User, Credential: access.BySession, UserID: id, SessionID: "session-" + id, Scopes: access.Scopes(),
		AuthData: map[string]map[string]any{"svc": {"id": id}},
	})
}

func (h *house) as(who access.Principal) *caller { return &caller{house: h, who: who} }

// caller sends requests as somebody.
type caller struct {
	house *house
	who   access.Principal
}

const events = "/v2/workspaces/" + home + "/events"

func (c *caller) get(path string) *answer { c.house.t.Helper(); return c.do(http.MethodGet, path, "") }

// emit sends events given as JSON.
func (c *caller) emit(event ...string) *answer {
	c.house.t.Helper()
	return c.do(http.MethodPost, events, `{"events":[`+strings.Join(event, ",")+`]}`)
}

func (c *caller) do(method, path, body string) *answer {
	c.house.t.Helper()
	c.house.sync()
	r := httptest.NewRequestWithContext(access.With(c.house.t.Context(), c.who), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	c.house.door.ServeHTTP(w, r)
	if path == events && method == http.MethodPost {
		c.house.dirty.Store(true)
	}
	return &answer{t: c.house.t, what: method + " " + path + " as " + c.who.Key(), status: w.Code, header: w.Header(), body: w.Body}
}

// types lists the types of the events that the caller may read, oldest first, and fails when the total is another.
func (c *caller) types() string {
	c.house.t.Helper()
	list := c.get(events + "?sort=asc").want(http.StatusOK)
	var types []string
	for i := range list.at("result.events").([]any) {
		types = append(types, list.text(fmt.Sprintf("result.events.%d.type", i)))
	}
	if total := list.header.Get("X-Total-Count"); total != strconv.Itoa(len(types)) {
		c.house.t.Errorf("%s: %d events, and the total is %s", list.what, len(types), total)
	}
	return strings.Join(types, " ")
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

// at gives the value at a dotted path.
func (a *answer) at(path string) any {
	a.t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(a.body.Bytes()))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		a.t.Fatalf("%s: %v\n%s", a.what, err, a.body)
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
