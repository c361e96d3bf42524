package limits_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
)

// guess tries a wrong credential and tells whether it was looked at.
func guess(t *testing.T, l *limits.Limits, address, hint string) bool {
	t.Helper()
	ctx := from(t, address)
	if err := l.Blocked(ctx, limits.Key, hint); err != nil {
		refusal(t, err, errs.RateLimitExceeded)
		return false
	}
	l.Failed(ctx, limits.Key, hint)
	return true
}

func TestGuessesAtOneCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(func(c *config.Config) { c.CredentialFailuresNet = 1000 })
	l := w.instance(t)
	for i := range 20 {
		if looked := guess(t, l, fmt.Sprintf("192.0.2.%d", i), "ak_12345678"); looked != (i < 10) {
			t.Errorf("guess %d: looked at: %v", i, looked)
		}
	}
	if !guess(t, l, somewhere, "ak_87654321") {
		t.Error("another key is blocked too")
	}
	if l.Blocked(from(t, somewhere), limits.Code, "ak_12345678") != nil {
		t.Error("another kind is blocked too")
	}
	wait := refusal(t, l.Blocked(from(t, somewhere), limits.Key, "ak_12345678"), errs.RateLimitExceeded)
	if wait != 6*time.Second {
		t.Errorf("wait %s", wait)
	}
	w.clock.Advance(wait)
	if !guess(t, l, somewhere, "ak_12345678") || guess(t, l, somewhere, "ak_12345678") {
		t.Error("after the wait there is one more guess")
	}
}

// Ten thousand guesses, from one address and from two hundred and fifty, at one prefix and at many.
func TestBruteForce(t *testing.T) {
	t.Parallel()
	one := newWorld(nil).instance(t)
	looked := 0
	for i := range 10_000 {
		if guess(t, one, somewhere, fmt.Sprintf("ak_%08d", i)) {
			looked++
		}
	}
	if looked != 30 {
		t.Errorf("%d guesses of one address were looked at", looked)
	}
	// Two instances that share their limits: the second one hears of a block with its first failure.
	w := newWorld(nil)
	instances := []*limits.Limits{w.instance(t), w.instance(t)}
	looked = 0
	for i := range 10_000 {
		if guess(t, instances[i%2], fmt.Sprintf("192.0.2.%d", i%250), limits.Hint("ak_12345678"+strings.Repeat("x", i%43))) {
			looked++
		}
	}
	if looked < 10 || looked > 11 {
		t.Errorf("%d guesses at one prefix were looked at", looked)
	}
}

// The owner of a key is not disturbed by those who guess at it elsewhere, yet may not guess without end either.
func TestRightCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	home := from(t, "198.51.100.1")
	for range 1000 {
		if err := l.Blocked(home, limits.Key, "ak_1"); err != nil {
			t.Fatal(err)
		}
		l.Passed(home, limits.Key, "ak_1") // never counts
	}
	for i := range 20 {
		guess(t, l, fmt.Sprintf("192.0.2.%d", i), "ak_1")
	}
	if l.Blocked(from(t, "203.0.113.1"), limits.Key, "ak_1") == nil || l.Blocked(home, limits.Key, "ak_1") != nil {
		t.Error("strangers are to be blocked, the owner not")
	}
	looked := 0
	for range 20 {
		if guess(t, l, "198.51.100.1", "ak_1") {
			looked++
		}
	}
	if looked != 10 {
		t.Errorf("the owner's network may guess %d times", looked)
	}
	w.clock.Advance(25 * time.Hour)
	for i := range 20 {
		guess(t, l, fmt.Sprintf("192.0.2.%d", i), "ak_1")
	}
	if l.Blocked(home, limits.Key, "ak_1") == nil {
		t.Error("a network is not a friend for ever")
	}
}

// Wrong credentials of every kind add up for a network; nothing else is blocked for it.
func TestNetworks(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	for i := range 10 {
		ctx := from(t, fmt.Sprintf("2001:db8::%d", i+1))
		l.Failed(ctx, limits.Token, "")
		l.Failed(ctx, limits.Code, fmt.Sprint(i))
		l.LoginFailed(ctx, fmt.Sprintf("%d@example.com", i))
	}
	ctx := from(t, "2001:db8::ffff")
	refusal(t, l.Blocked(ctx, limits.Token, ""), errs.RateLimitExceeded)
	refusal(t, l.LoginAllowed(ctx, "new@example.com"), errs.RateLimitExceeded)
	if l.Blocked(from(t, "2001:db8:0:1::1"), limits.Token, "") != nil {
		t.Error("the network beside it is blocked too")
	}
	if got := admitted(ctx, l, user("u"), 1); got != 1 {
		t.Error("its signed-in users are refused")
	}
	w.clock.Advance(time.Minute)
	if l.Blocked(ctx, limits.Token, "") != nil {
		t.Error("the block does not end")
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{"": "", "ak_": "ak_", "ak_12345678": "ak_12345678", "ak_123456789abc": "ak_12345678"} {
		if got := limits.Hint(secret); got != want {
			t.Errorf("%q: %q", secret, got)
		}
	}
}
