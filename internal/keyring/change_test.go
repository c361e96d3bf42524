package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/keyring"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestRevokeTheSigningKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		token, kid := signed(t, a)
		h.revoke(a, kid)
		if accepts(t, a, token) {
			t.Error("accepted where it was revoked")
		}
		fresh, freshKID := signed(t, a)
		if freshKID == kid || !accepts(t, b, fresh) { // b learns of it by the unknown id
			t.Error("the new key is not known to the other instance")
		}
		if accepts(t, b, token) {
			t.Error("accepted by an instance that has looked since")
		}
		h.wantStates(a, keyring.Signing)
		wantUpdates(t, h.updates(keyring.GatewayUpdated), keyring.Updated{Created: []string{freshKID}, Deleted: []string{kid}})
	})
}

// The id of one key in 64 is shorter than the others, because it leaves out a leading dash.
func TestFindAKeyWithAShortID(t *testing.T) {
	t.Parallel()
	once(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		token, kid := signed(t, a)
		for len(kid) == 43 {
			h.revoke(a, kid)
			token, kid = signed(t, a)
		}
		if !accepts(t, b, token) {
			t.Errorf("the key %s is not known to the other instance", kid)
		}
	})
}

func TestRevokeWithTheNextKeyReady(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		_, kid := signed(t, a)
		next := h.rotate(a)
		h.step(b)
		h.revoke(b, kid)
		if _, now := signed(t, b); now != next {
			t.Error("the next key does not take over")
		}
		h.step(a)
		if _, now := signed(t, a); now != next {
			t.Error("the other instance does not follow")
		}
	})
}

func TestRevokeOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ring := h.gateway()
		old, kid := signed(t, ring)
		h.rotate(ring)
		h.clock.Advance(2 * time.Second)
		fresh, _ := signed(t, ring)
		h.revoke(ring, kid)
		if accepts(t, ring, old) || !accepts(t, ring, fresh) {
			t.Error("the wrong key was revoked")
		}
		for _, wrong := range []string{kid, "", "nobody", "' OR 1=1 --", strings.Repeat("x", 10_000)} {
			if err := ring.Revoke(t.Context(), wrong); !errors.Is(err, keyring.ErrUnknown) {
				t.Errorf("revoking %.20q: %v", wrong, err)
			}
		}
		next := h.rotate(ring)
		h.revoke(ring, next) // it never signed
		h.wantStates(ring, keyring.Signing)
		if now, _ := signed(t, ring); !accepts(t, ring, now) {
			t.Error("nothing signs")
		}
	})
}

// Instances that revoke and rotate at the same time leave a ring that signs, and announce each change once.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		rings := []*keyring.Ring{h.gateway(), h.gateway(), h.gateway()}
		for range 5 {
			kid := rings[0].Signing().KeyID
			var together sync.WaitGroup
			for i, ring := range rings {
				together.Go(func() {
					err := ring.Revoke(t.Context(), kid)
					if i == 0 {
						_, err = ring.Rotate(t.Context())
					}
					if err != nil && !errors.Is(err, keyring.ErrUnknown) {
						t.Error(err)
					}
				})
			}
			together.Wait()
			h.step(rings...)
			h.clock.Advance(3 * time.Second)
		}
		keys, err := rings[0].List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		net := map[string]int{}
		for _, update := range h.updates(keyring.GatewayUpdated) {
			for _, kid := range update.Created {
				net[kid]++
			}
			for _, kid := range update.Deleted {
				net[kid]--
			}
		}
		for _, key := range keys {
			if net[key.KID] != 1 {
				t.Errorf("key %s was announced %d times", key.KID, net[key.KID])
			}
			delete(net, key.KID)
		}
		for kid, count := range net {
			if count != 0 && count != -1 { // the first key was never created by an event
				t.Errorf("gone key %s: %d", kid, count)
			}
		}
	})
}

// A key that somebody deletes by hand stops working, and the deletion is announced.
func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		h.step(a, b)
		token, kid := signed(t, a)
		h.exec(`DELETE FROM keyring_keys WHERE kid = $1`, kid)
		h.step(a, b)
		if accepts(t, a, token) || accepts(t, b, token) {
			t.Error("a deleted key verifies")
		}
		fresh, freshKID := signed(t, b)
		if !accepts(t, a, fresh) {
			t.Error("the new key is not shared")
		}
		wantUpdates(t, h.updates(keyring.GatewayUpdated), keyring.Updated{Created: []string{freshKID}, Deleted: []string{kid}})
	})
}

// Clocks that are apart, and a hand that takes keys away, do not leave a ring that cannot go on.
func TestKeysOutOfOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ring := h.gateway()
		_, first := signed(t, ring)
		second := h.rotate(ring)
		h.exec(`DELETE FROM keyring_keys WHERE kid = $1`, first)
		h.exec(`UPDATE keyring_keys SET signs_at = signs_at + 600000 WHERE kid = $1`, second) // by a clock ten minutes ahead
		for range 3 {
			h.step(ring)
			if token, _ := signed(t, ring); !accepts(t, ring, token) {
				t.Error("it does not sign")
			}
			h.rotate(ring)
			h.clock.Advance(3 * time.Second)
		}
		h.clock.Advance(2 * day)
		h.step(ring)
		h.clock.Advance(3 * time.Second)
		if token, kid := signed(t, ring); kid == second || !accepts(t, ring, token) {
			t.Error("it does not go on")
		}
	})
}

// Without any key left, the runtime's event says so with empty lists, and a gateway makes a new first key.
func TestEverythingDeletedByHand(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		gateway, runtime := h.gateway(), h.runtime()
		h.step(gateway, runtime)
		_, kid := signed(t, gateway)
		h.exec(`DELETE FROM keyring_keys`)
		h.step(runtime, gateway, runtime)
		_, fresh := signed(t, runtime)
		got := h.updates(keyring.RuntimeUpdated)
		wantUpdates(t, got, keyring.Updated{Deleted: []string{kid}}, keyring.Updated{Created: []string{fresh}})
		for _, update := range got {
			if update.Created == nil || update.Deleted == nil {
				t.Error("a list is null")
			}
		}
	})
}

// Of many runtime instances one appends the event of a change; so does the first gateway that notices a command's change.
func TestEachChangeIsAnnouncedOncePerKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		gateways := []*keyring.Ring{h.gateway(), h.gateway()}
		runtimes := []*keyring.Ring{h.runtime(), h.runtime(), h.runtime()}
		all := slices.Concat(gateways, runtimes)
		h.step(all...)
		deps := h.deps()
		deps.Bus, deps.Makes, deps.Announce = nil, false, nil
		command := h.open(deps)
		var want []keyring.Updated
		for i := range 4 {
			by := gateways[0]
			if i%2 == 1 {
				by = command
			}
			want = append(want, keyring.Updated{Created: []string{h.rotate(by)}, Deleted: []string{}})
			var together sync.WaitGroup
			for _, ring := range all {
				together.Go(func() { h.step(ring) })
			}
			together.Wait()
			h.clock.Advance(3 * time.Second)
		}
		wantUpdates(t, h.updates(keyring.GatewayUpdated), want...)
	})
}

func TestRuntimeAnnounces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		gateway, one, two := h.gateway(), h.runtime(), h.runtime()
		h.step(gateway, one, two)
		_, first := signed(t, gateway)
		second := h.rotate(gateway)
		h.step(one, two)
		h.clock.Advance(3 * time.Second)
		h.revoke(gateway, first)
		h.step(two, one)
		wantUpdates(t, h.updates(keyring.RuntimeUpdated),
			keyring.Updated{Created: []string{second}, Deleted: []string{}}, keyring.Updated{Created: []string{}, Deleted: []string{first}})
	})
}

// A flood of unknown ids makes one look a second, and known ids never wait for it.
func TestUnknownIDsDoNotStampede(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		token, _ := signed(t, a)
		unknown := func(i int) string { return fmt.Sprintf("%043d", i) }
		if _, ok := b.Find(t.Context(), unknown(0)); ok {
			t.Error("an unknown id is found")
		}
		_, kid := signed(t, a)
		h.revoke(a, kid)
		fresh, _ := signed(t, a)
		for i := range 1000 {
			if _, ok := b.Find(t.Context(), unknown(i)); ok {
				t.Error("an unknown id is found")
			}
		}
		if accepts(t, b, fresh) {
			t.Error("the flood made it look twice in a second")
		}
		if !accepts(t, b, token) {
			t.Error("it has looked, or a known key waits")
		}
		h.clock.Advance(time.Second)
		if !accepts(t, b, fresh) || accepts(t, b, token) {
			t.Error("it does not look after a second")
		}
	})
}

// Tokens of keys that are gone do not use up the looks that a new key needs.
func TestGoneKeysCauseNoLooks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		gone, kid := signed(t, a)
		h.revoke(a, kid)
		h.step(b)
		for range 3 {
			if accepts(t, b, gone) {
				t.Error("a revoked key verifies")
			}
		}
		_, kid = signed(t, a)
		h.revoke(a, kid)
		if fresh, _ := signed(t, a); !accepts(t, b, fresh) {
			t.Error("a valid token is refused")
		}
	})
}

// Many requests with a key that is new here wait for the same look.
func TestNewKeyUnderLoad(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		_, kid := signed(t, a)
		h.revoke(a, kid)
		token, _ := signed(t, a)
		var together sync.WaitGroup
		for range 50 {
			together.Go(func() {
				if !accepts(t, b, token) {
					t.Error("a valid token is refused")
				}
			})
		}
		together.Wait()
	})
}

// A caller who goes away takes nobody's look along.
func TestLookSurvivesItsCaller(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		_, kid := signed(t, a)
		h.revoke(a, kid)
		_, fresh := signed(t, a)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.Find(ctx, fresh)
		if _, ok := b.Find(t.Context(), fresh); !ok {
			t.Error("the look was lost")
		}
	})
}

// Run keeps processes in step by itself, here with a clock that runs.
func TestRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		deps := h.deps()
		deps.Clock = clock.System{}
		a, b := h.open(deps), h.open(deps)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		for _, ring := range []*keyring.Ring{a, b} {
			running.Go(func() {
				if err := ring.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		first := a.Signing().KeyID
		h.rotate(a)
		wait(t, func() bool { return b.Signing().KeyID != first })
		began := deps.Clock.Now()
		h.revoke(a, first)
		wait(t, func() bool { _, ok := b.Find(t.Context(), first); return !ok })
		if took := deps.Clock.Now().Sub(began); took > 5*time.Second {
			t.Errorf("the revoked key verified for %v", took)
		}
	})
}

// wait looks until a condition holds.
func wait(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it never happened")
		}
	}
}

// Two processes on one database, as a command beside a running server.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	sqldbtest.EachTwice(t, func(t *testing.T, one, two *sqldb.DB) {
		clk := clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		if _, err := sqldb.Migrate(t.Context(), one, clk.Now(), keyring.Migrations()); err != nil {
			t.Fatal(err)
		}
		open := func(db *sqldb.DB) *keyring.Ring {
			ring, err := keyring.Open(t.Context(), keyring.Deps{DB: db, Clock: clk, Settings: settings(), Makes: db == one})
			if err != nil {
				t.Fatal(err)
			}
			return ring
		}
		server, command := open(one), open(two)
		old, kid := signed(t, server)
		if err := command.Revoke(t.Context(), kid); err != nil {
			t.Fatal(err)
		}
		if err := server.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if fresh, _ := signed(t, server); accepts(t, server, old) || !accepts(t, command, fresh) {
			t.Error("the server did not take over the change")
		}
	})
}
