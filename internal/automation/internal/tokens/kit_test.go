package tokens_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/tokens"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/gateway"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv/memkv"
	"atelier/internal/mail"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is an installation: a gateway, behind which the services tell who they were called by, and a mint.
type house struct {
	*testing.T
	db      *sqldb.DB
	clock   *clock.Manual
	gateway *gateway.Gateway
	keys    *keyring.Ring
	mint    *tokens.Mint
	config  config.Config
}

// seen is what a service knows of a request.
type seen struct {
	Principal     access.Principal
	CorrelationID string
}

const (
	adminEmail    = "admin@example.test"
	adminPassword = "correct horse battery staple"
)

func newHouse(t *testing.T) *house {
	t.Helper()
	loaded, err := config.Load(config.Sources{Environ: []string{
		"API_URL=https://atelier.example/v2", "DISABLE_RATE_LIMIT=yes", "ADMIN_EMAIL=" + adminEmail, "ADMIN_PASSWORD=" + adminPassword,
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, clock: clock.NewManual(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)), config: loaded.Config}
	h.db = sqldbtest.SQLite(t, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), keyring.Migrations(), mail.Migrations(), gateway.Migrations(),
		gateway.FactorMigrations(), gateway.OIDCMigrations())
	quiet := slog.New(slog.DiscardHandler)
	log, err := sqlbus.Open(h.db, h.clock, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	h.keys, err = keyring.Open(t.Context(), keyring.Deps{
		DB: h.db, Bus: log, Clock: h.clock, Log: quiet, Makes: true,
		Settings: keyring.Settings{Alg: "ES256", RotateEvery: 24 * time.Hour, KeepFor: 24 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	const internal = "an-internal-key-for-tests-only"
	prover, err := access.NewProver(internal, h.clock)
	if err != nil {
		t.Fatal(err)
	}
	store := memkv.New(h.clock)
	h.gateway, err = gateway.New(t.Context(), gateway.Deps{
		Config: loaded.Config, Log: quiet, Clock: h.clock, DB: h.db, Keys: h.keys, Bus: log, Limits: store, Store: store, Internal: internal, Prover: prover,
		APIKeys: access.NewKeys(h.clock, ident.Source{}), Lookup: func(string) string { return "" }, Client: &http.Client{},
		Services: map[gateway.Service]http.Handler{gateway.Workspaces: http.HandlerFunc(tell), gateway.Runtime: http.HandlerFunc(tell)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.gateway.EnsureAdmin(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.mint = tokens.New(tokens.Deps{Keys: h.keys, Clock: h.clock, Issuer: loaded.Config.Issuer(), Audience: loaded.Config.PublicURL()})
	return h
}

// tell is a service that tells who called. A stream it keeps open.
func tell(w http.ResponseWriter, r *http.Request) {
	if began, ok := r.Context().Value(beganKey{}).(chan struct{}); ok {
		close(began)
		<-r.Context().Done()
		return
	}
	_ = json.NewEncoder(w).Encode(seen{access.From(r.Context()), httpx.InfoFrom(r.Context()).CorrelationID})
}

// call sends a request through the gateway.
func (h *house) call(method, path, token, body string) *httptest.ResponseRecorder {
	h.Helper()
	info := &httpx.Info{CorrelationID: "fresh", Shape: httpx.ShapeFlat, Client: netip.MustParseAddr("203.0.113.1"), Started: h.clock.Now()}
	r := httptest.NewRequestWithContext(httpx.WithInfo(h.Context(), info), method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	w.Header().Set("X-Correlation-Id", info.CorrelationID)
	h.gateway.ServeHTTP(w, r)
	return w
}

// as gives what a service sees of a request with a token.
func (h *house) as(token string) seen {
	h.Helper()
	w := h.call(http.MethodGet, webhook, token, "")
	var got seen
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
		h.Fatalf("%d %s", w.Code, w.Body)
	}
	if w.Header().Get("X-Correlation-Id") != got.CorrelationID {
		h.Errorf("the answer says that it is of %s, not of %s", w.Header().Get("X-Correlation-Id"), got.CorrelationID)
	}
	return got
}

const webhook = "/v2/workspaces/target/webhooks/in"

// signIn gives the caller that somebody is who signs in.
func (h *house) signIn(path, body string) access.Principal {
	h.Helper()
	w := h.call(http.MethodPost, path, "", body)
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Token == "" {
		h.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return h.as(answer.Token).Principal
}

func (h *house) admin() access.Principal {
	h.Helper()
	return h.signIn("/v2/login", `{"email":"`+adminEmail+`","password":"`+adminPassword+`"}`)
}

func (h *house) visitor() access.Principal {
	h.Helper()
	return h.signIn("/v2/login/anonymous", `{}`)
}

func (h *house) sign(call tokens.Call) string {
	h.Helper()
	if call.Life == 0 {
		call.Life = 10 * time.Second
	}
	token, err := h.mint.Sign(call)
	if err != nil {
		h.Fatal(err)
	}
	return token
}

type beganKey struct{}

// stream begins a request that goes on, until ctx ends or the gateway ends it.
func (h *house) stream(ctx context.Context, token string) (ended <-chan struct{}) {
	h.Helper()
	began, done := make(chan struct{}), make(chan struct{})
	ctx = context.WithValue(httpx.WithInfo(ctx, &httpx.Info{CorrelationID: "fresh", Shape: httpx.ShapeFlat}), beganKey{}, began)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, webhook, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	go func() {
		defer close(done)
		h.gateway.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-began
	return done
}

// until lets the time pass until a stream has ended.
func (h *house) until(ended <-chan struct{}) {
	for {
		h.clock.Advance(time.Second)
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// revoke ends the session of somebody.
func (h *house) revoke(p access.Principal) {
	h.Helper()
	err := h.db.Tx(h.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(h.Context(), `UPDATE gw_sessions SET revoked_at = 1 WHERE id = $1`, p.SessionID)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
}
