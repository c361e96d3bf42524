package keyring_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/keyring"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hour = time.Hour
	day  = 24 * hour
)

// house is a database that several instances share, and a clock that stands still.
type house struct {
	t     *testing.T
	db    *sqldb.DB
	bus   bus.Log
	clock *clock.Manual
}

// each runs a scenario on every engine.
func each(t *testing.T, scenario func(t *testing.T, h *house)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { scenario(t, newHouse(t, db)) }, sqlbus.Migrations(), keyring.Migrations())
}

// once runs a scenario that is about keys, not about SQL.
func once(t *testing.T, scenario func(t *testing.T, h *house)) {
	t.Helper()
	scenario(t, newHouse(t, sqldbtest.SQLite(t, sqlbus.Migrations(), keyring.Migrations())))
}

func newHouse(t *testing.T, db *sqldb.DB) *house {
	t.Helper()
	h := &house{t: t, db: db, clock: clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}
	log, err := sqlbus.Open(db, h.clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	h.bus = log
	return h
}

// settings are quick to make keys with.
func settings() keyring.Settings {
	return keyring.Settings{Alg: "ES256", Size: 2048, RotateEvery: day, KeepFor: hour}
}

func (h *house) deps() keyring.Deps {
	return keyring.Deps{
		DB: h.db, Bus: h.bus, Clock: h.clock, Log: slog.New(slog.DiscardHandler), Settings: settings(), Makes: true,
		Announce: []string{keyring.GatewayUpdated},
	}
}

func (h *house) open(deps keyring.Deps) *keyring.Ring {
	h.t.Helper()
	ring, err := keyring.Open(h.t.Context(), deps)
	if err != nil {
		h.t.Fatal(err)
	}
	return ring
}

func (h *house) gateway() *keyring.Ring { h.t.Helper(); return h.open(h.deps()) }

func (h *house) runtime() *keyring.Ring {
	h.t.Helper()
	deps := h.deps()
	deps.Makes, deps.Announce = false, []string{keyring.RuntimeUpdated}
	return h.open(deps)
}

func (h *house) step(rings ...*keyring.Ring) {
	h.t.Helper()
	for _, ring := range rings {
		if err := ring.Step(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *house) rotate(ring *keyring.Ring) string {
	h.t.Helper()
	kid, err := ring.Rotate(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return kid
}

func (h *house) revoke(ring *keyring.Ring, kid string) {
	h.t.Helper()
	if err := ring.Revoke(h.t.Context(), kid); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) exec(statement string, args ...any) {
	h.t.Helper()
	err := h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(h.t.Context(), statement, args...)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// updates are the events of a type, oldest first.
func (h *house) updates(eventType string) []keyring.Updated {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var mu sync.Mutex
	var all []bus.Event
	end, err := h.bus.Append(ctx, bus.Record{WorkspaceID: "platform", Type: "end", Body: []byte(`{}`)})
	if err != nil {
		h.t.Fatal(err)
	}
	err = h.bus.Consume(ctx, bus.Consumer{Name: "test", FromStart: true, Handle: func(_ context.Context, events []bus.Event) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, events...)
		if events[len(events)-1].Position >= end[0].Position {
			cancel()
		}
		return nil
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	var updates []keyring.Updated
	for _, event := range all {
		if event.Type != eventType {
			continue
		}
		var body struct{ Payload keyring.Updated }
		if err := json.Unmarshal(event.Body, &body); err != nil || event.WorkspaceID != "platform" {
			h.t.Fatalf("event %s: %v", event.Body, err)
		}
		updates = append(updates, body.Payload)
	}
	return updates
}

// signed makes a token and gives the id of its key.
func signed(t *testing.T, ring *keyring.Ring) (token, kid string) {
	t.Helper()
	token, err := ring.Sign([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return token, kidOf(t, token)
}

func kidOf(t *testing.T, token string) string {
	t.Helper()
	parsed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Signatures[0].Protected.KeyID
}

func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// accepts tells whether an instance verifies a token.
func accepts(t *testing.T, ring *keyring.Ring, token string) bool {
	t.Helper()
	parsed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil {
		t.Fatal(err)
	}
	key, ok := ring.Find(t.Context(), parsed.Signatures[0].Protected.KeyID)
	if !ok {
		return false
	}
	_, err = parsed.Verify(key)
	return err == nil
}

func (h *house) states(ring *keyring.Ring) []keyring.State {
	h.t.Helper()
	keys, err := ring.List(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var states []keyring.State
	for _, key := range keys {
		states = append(states, key.State)
	}
	return states
}

func (h *house) wantStates(ring *keyring.Ring, want ...keyring.State) {
	h.t.Helper()
	if got := h.states(ring); !slices.Equal(got, want) {
		h.t.Errorf("keys are %v, want %v", got, want)
	}
}

func wantUpdates(t *testing.T, got []keyring.Updated, want ...keyring.Updated) {
	t.Helper()
	equal := func(a, b keyring.Updated) bool {
		return slices.Equal(a.Created, b.Created) && slices.Equal(a.Deleted, b.Deleted)
	}
	if !slices.EqualFunc(got, want, equal) {
		t.Errorf("events are %v, want %v", got, want)
	}
}
