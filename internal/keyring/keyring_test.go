package keyring_test

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/keyring"
)

func TestEveryAlgorithmSignsAndVerifies(t *testing.T) {
	t.Parallel()
	once(t, func(t *testing.T, h *house) {
		for _, alg := range algorithms() {
			deps := h.deps()
			deps.Settings.Alg = string(alg)
			ring := h.open(deps) // each follows the one before it: the algorithm has changed
			h.clock.Advance(3 * time.Second)
			token, _ := signed(t, ring)
			if key := ring.Signing(); key.Algorithm != string(alg) || key.Use != "sig" || !accepts(t, ring, token) {
				t.Errorf("%s: signs with %s", alg, key.Algorithm)
			}
			if err := ring.Check(t.Context()); err != nil {
				t.Errorf("%s: %v", alg, err)
			}
		}
		if made := h.updates(keyring.GatewayUpdated); len(made) != len(algorithms())-1 {
			t.Errorf("%d changes were announced", len(made))
		}
	})
}

func TestSizeTakesEffectOnStart(t *testing.T) {
	t.Parallel()
	once(t, func(t *testing.T, h *house) {
		deps := h.deps()
		deps.Settings.Alg = "RS256"
		first := h.open(deps).Signing().KeyID
		if again := h.open(deps).Signing().KeyID; again != first {
			t.Error("a start without a change made a key")
		}
		deps.Settings.Size = 3072
		ring := h.open(deps)
		if ring.Signing().KeyID != first {
			t.Error("the new key signs before others can know it")
		}
		h.clock.Advance(2 * time.Second)
		if bits := ring.Signing().Key.(*rsa.PrivateKey).N.BitLen(); bits != 3072 {
			t.Errorf("the key has %d bits", bits)
		}
	})
}

// Of instances that start at once, one makes the first key.
func TestFirstKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		var started sync.WaitGroup
		rings := make([]*keyring.Ring, 5)
		for i := range rings {
			started.Go(func() { rings[i] = h.gateway() })
		}
		started.Wait()
		for _, ring := range rings {
			if token, _ := signed(t, ring); !accepts(t, rings[0], token) {
				t.Error("two first keys")
			}
		}
		h.wantStates(rings[0], keyring.Signing)
		h.step(rings...)
		wantUpdates(t, h.updates(keyring.GatewayUpdated)) // the first key is no change
	})
}

// A key is known to everybody before it signs, and its successor is made once.
func TestRotationIsInvisible(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		rings := []*keyring.Ring{h.gateway(), h.gateway(), h.gateway()}
		old, oldKID := signed(t, rings[0])
		h.step(rings...)
		h.wantStates(rings[0], keyring.Signing)

		h.clock.Advance(day - 2*time.Minute)
		var together sync.WaitGroup
		for _, ring := range rings {
			together.Go(func() { h.step(ring) })
		}
		together.Wait()
		h.step(rings...)
		h.wantStates(rings[1], keyring.Signing, keyring.Next)
		if _, kid := signed(t, rings[2]); kid != oldKID {
			t.Error("the next key signs before its time")
		}

		h.clock.Advance(2 * time.Minute)
		for _, by := range rings {
			token, kid := signed(t, by)
			if kid == oldKID {
				t.Error("the old key signs after its time")
			}
			for _, at := range rings {
				if !accepts(t, at, token) || !accepts(t, at, old) {
					t.Error("a valid token is refused")
				}
			}
		}
		h.wantStates(rings[0], keyring.Retired, keyring.Signing)
		_, newKID := signed(t, rings[0])
		wantUpdates(t, h.updates(keyring.GatewayUpdated), keyring.Updated{Created: []string{newKID}, Deleted: []string{}})
	})
}

func TestReplacedKeyIsRemovedWhenItsTokensHaveEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		token, first := signed(t, a)
		second := h.rotate(a)
		h.clock.Advance(2*time.Second + hour)
		h.step(a, b)
		if !accepts(t, a, token) {
			t.Error("removed while a token may be forgiven a minute")
		}
		h.clock.Advance(time.Minute + time.Second)
		if accepts(t, b, token) || len(b.Public().Keys) != 1 {
			t.Error("a key that is over still verifies")
		}
		h.step(a, b)
		h.wantStates(b, keyring.Signing)
		wantUpdates(t, h.updates(keyring.GatewayUpdated),
			keyring.Updated{Created: []string{second}, Deleted: []string{}}, keyring.Updated{Created: []string{}, Deleted: []string{first}})
	})
}

// An installation that was switched off for longer than anything lasts goes on.
func TestAfterALongPause(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		_, old := signed(t, h.gateway())
		h.clock.Advance(400 * day)
		ring, other := h.gateway(), h.gateway()
		if token, _ := signed(t, ring); !accepts(t, other, token) {
			t.Error("a token of the first moment is refused")
		}
		h.step(ring)
		h.clock.Advance(2 * time.Second)
		if token, kid := signed(t, ring); kid == old || !accepts(t, other, token) {
			t.Error("the old key goes on signing")
		}
		h.clock.Advance(hour + 2*time.Minute)
		h.step(ring)
		h.wantStates(ring, keyring.Signing)
	})
}

func TestShortenedPeriodTakesEffect(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		_, old := signed(t, h.gateway())
		deps := h.deps()
		deps.Settings.RotateEvery = hour
		ring := h.open(deps)
		h.clock.Advance(hour - time.Minute)
		h.step(ring)
		h.clock.Advance(time.Minute)
		if _, kid := signed(t, ring); kid == old {
			t.Error("the key still has its old period")
		}
	})
}

// With the shortest period each key has its two seconds, and everyone knows it two seconds before.
func TestShortestPeriod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		deps := h.deps()
		deps.Settings.RotateEvery, deps.Settings.KeepFor = 2*time.Second, time.Minute
		a, b := h.open(deps), h.open(deps)
		seen := map[string]bool{}
		for range 40 {
			token, kid := signed(t, a)
			if !accepts(t, b, token) {
				t.Fatal("a valid token is refused")
			}
			seen[kid] = true
			h.step(a)
			h.clock.Advance(time.Second)
			if token, _ := signed(t, a); !accepts(t, b, token) { // b is a second behind here
				t.Fatal("a valid token is refused")
			}
			h.step(b)
		}
		if len(seen) < 19 {
			t.Errorf("%d keys signed in 40 seconds", len(seen))
		}
	})
}

func TestRotateTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ring := h.gateway()
		first := h.rotate(ring)
		if again := h.rotate(ring); again != first {
			t.Error("a key that is about to sign is skipped")
		}
		h.clock.Advance(2 * time.Second)
		if _, kid := signed(t, ring); kid != first {
			t.Error("the new key does not sign after two seconds")
		}
		if h.rotate(ring) == first {
			t.Error("the second rotation makes no key")
		}
	})
}

// A key that was made ahead of its turn takes over early.
func TestRotateWithTheNextKeyReady(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		a, b := h.gateway(), h.gateway()
		h.clock.Advance(day - time.Minute)
		h.step(a, b)
		h.clock.Advance(3 * time.Second)
		next := h.rotate(a)
		if _, kid := signed(t, a); kid != next {
			t.Error("the next key does not sign")
		}
		h.step(b)
		if _, kid := signed(t, b); kid != next {
			t.Error("the other instance does not follow")
		}
		h.wantStates(a, keyring.Retired, keyring.Signing)
	})
}

func TestKeysAreNotPublishedWhole(t *testing.T) {
	t.Parallel()
	once(t, func(t *testing.T, h *house) {
		for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
			deps := h.deps()
			deps.Settings.Alg = alg
			h.open(deps)
		}
		text, err := json.Marshal(h.gateway().Public())
		if err != nil || strings.Count(string(text), `"use":"sig"`) < 3 {
			t.Fatalf("%s: %v", text, err)
		}
		for _, private := range []string{`"d"`, `"p"`, `"q"`, `"dp"`, `"dq"`, `"qi"`, `"k"`} {
			if strings.Contains(string(text), private+":") {
				t.Errorf("the public keys hold %s", private)
			}
		}
	})
}

// A follower that starts before there is a key says so, and finds it later.
func TestFollowerWithoutKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		follower := h.runtime()
		_, err := follower.Sign([]byte(`{}`))
		problem, ok := errors.AsType[*errs.Error](err)
		if !ok || problem.Code != errs.Unavailable || follower.Signing() != nil || follower.Check(t.Context()) == nil {
			t.Errorf("without a key: %v", err)
		}
		h.step(follower)
		ring := h.gateway()
		h.step(follower)
		if token, _ := signed(t, follower); !accepts(t, ring, token) {
			t.Error("the follower signs with another key")
		}
	})
}
