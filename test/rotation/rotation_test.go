// Package rotation_test lets the signing keys of several gateways rotate as fast as they can, under load, and looks for
// valid tokens that are refused and for revoked ones that are accepted.
package rotation_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"atelier/internal/keyring"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
)

const (
	gateways   = 3
	perSecond  = 300
	loginEvery = 100 * time.Millisecond
	// revokeEvery leaves time to see that a revoked key is refused for good.
	revokeEvery = 4 * time.Second
)

// TestRotation runs for ROTATION_SECONDS: a key signs for two seconds, visitors sign in all the time and use their tokens
// on every gateway at once, and now and then the key that signs is revoked.
func TestRotation(t *testing.T) {
	length := time.Duration(seconds(t)) * time.Second
	h, l := newHouse(t, gateways), newLedger()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { every(ctx, loginEvery, func() { login(t.Context(), h, l) }) })
	running.Go(func() { every(ctx, revokeEvery, func() { revoke(t.Context(), h, l) }) })
	running.Go(func() { every(ctx, time.Second/perSecond, func() { use(t.Context(), h, l) }) })
	running.Wait()
	for i, fault := range l.faults {
		if i == 10 {
			t.Errorf("and %d more", len(l.faults)-i)
			break
		}
		t.Error(fault)
	}
	if want := int(length/(2*time.Second)) / 2; len(l.signed) < want {
		t.Errorf("%d keys signed in %v, want at least %d", len(l.signed), length, want)
	}
	if l.refused == 0 || len(l.revoked) == 0 {
		t.Errorf("%d keys were revoked and %d tokens refused: the test shows nothing", len(l.revoked), l.refused)
	}
	announced(t, h)
	t.Logf("%v, %d gateways: %d answers (%.0f per second), %d keys signed, %d revoked; %d accepted, %d refused for a revoked key; "+
		"a revoked key was last accepted %v after the command; %d faults",
		length, gateways, l.accepted+l.refused, float64(l.accepted+l.refused)/length.Seconds(), len(l.signed), len(l.revoked),
		l.accepted, l.refused, l.slowest.Round(time.Millisecond), len(l.faults))
}

func seconds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROTATION_SECONDS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 5 {
		t.Fatalf("ROTATION_SECONDS: %q is not a number of at least 5", text)
	}
	return n
}

// every does something again and again until ctx ends, without waiting for it, and waits for all of it in the end.
func every(ctx context.Context, pause time.Duration, do func()) {
	var under sync.WaitGroup
	defer under.Wait()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			under.Go(do)
		}
	}
}

// login signs in on one gateway and uses the token on all of them at once.
func login(ctx context.Context, h *house, l *ledger) {
	issued := time.Now()
	from := h.urls[issued.UnixNano()/int64(loginEvery)%int64(len(h.urls))]
	text, err := h.signIn(ctx, from)
	if err != nil {
		l.judge(token{}, issued, 0, "", err)
		return
	}
	made, err := l.add(text, issued)
	if err != nil {
		l.judge(made, issued, 0, "", err)
		return
	}
	var together sync.WaitGroup
	for _, url := range h.urls {
		together.Go(func() { try(ctx, h, l, url, made) })
	}
	together.Wait()
}

func use(ctx context.Context, h *house, l *ledger) {
	now := time.Now()
	if picked, ok := l.pick(now); ok {
		try(ctx, h, l, h.urls[now.UnixNano()/1000%int64(len(h.urls))], picked)
	}
}

func try(ctx context.Context, h *house, l *ledger, url string, t token) {
	sent := time.Now()
	status, code, err := h.me(ctx, url, t.text)
	l.judge(t, sent, status, code, err)
}

// revoke revokes the key that signs.
func revoke(ctx context.Context, h *house, l *ledger) {
	var listed []key
	if err := h.keys(ctx, &listed, "list"); err != nil {
		l.judge(token{}, time.Now(), 0, "", err)
		return
	}
	for _, k := range listed {
		if k.State != string(keyring.Signing) {
			continue
		}
		r := revocation{began: time.Now()}
		l.revoking(k.KID, r)
		var answer map[string]string
		if err := h.keys(ctx, &answer, "revoke", k.KID); err != nil {
			l.judge(token{}, time.Now(), 0, "", err)
		}
		r.ended = time.Now()
		l.revoking(k.KID, r)
	}
}

// announced holds the events against the keys: each of them was created and deleted once, as the gateways tell it and as
// the runtimes do.
func announced(t *testing.T, h *house) {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: h.database, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, eventType := range []string{keyring.GatewayUpdated, keyring.RuntimeUpdated} {
		created, deleted := map[string]int{}, map[string]int{}
		for _, update := range updates(t, db, eventType) {
			for _, kid := range update.Created {
				created[kid]++
			}
			for _, kid := range update.Deleted {
				deleted[kid]++
			}
		}
		if len(created) == 0 || len(deleted) == 0 {
			t.Errorf("%s: %d keys created, %d deleted", eventType, len(created), len(deleted))
		}
		for _, counts := range []map[string]int{created, deleted} {
			for kid, n := range counts {
				if n != 1 {
					t.Errorf("%s tells of key %s %d times", eventType, kid, n)
				}
			}
		}
	}
}

func updates(t *testing.T, db *sqldb.DB, eventType string) []keyring.Updated {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT body FROM bus_events WHERE type = $1`, eventType)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []keyring.Updated
	for rows.Next() {
		var text string
		var body struct{ Payload keyring.Updated }
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, body.Payload)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
