package limits_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/kv"
	"atelier/internal/kv/sqlkv"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

const account = "ada@example.com"

// attack tries wrong passwords, each from another network and ten seconds after the last, and counts those looked at.
func attack(t *testing.T, w *world, l *limits.Limits, attempts int) (looked int) {
	t.Helper()
	for i := range attempts {
		ctx := from(t, fmt.Sprintf("192.0.2.%d", i))
		if l.LoginAllowed(ctx, account) == nil {
			l.LoginFailed(ctx, account)
			looked++
		}
		w.clock.Advance(10 * time.Second)
	}
	return looked
}

// Ten wrong passwords lock strangers out for a quarter of an hour, on every instance, and never the owner.
func TestLockout(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l, other := w.instance(t), w.instance(t)
	home := from(t, "198.51.100.1")
	l.LoginSucceeded(home, account)
	if looked := attack(t, w, l, 30); looked != 10 {
		t.Errorf("%d wrong passwords were looked at", looked)
	}
	wait := refusal(t, other.LoginAllowed(from(t, "203.0.113.1"), " ADA@Example.com "), errs.RateLimitExceeded)
	if left := 15*time.Minute - 210*time.Second; wait != left {
		t.Errorf("wait %s, want %s", wait, left)
	}
	for range 3 {
		if err := other.LoginAllowed(home, account); err != nil {
			t.Errorf("the owner is locked out: %v", err)
		}
		other.LoginSucceeded(home, account)
	}
	if other.LoginAllowed(from(t, "203.0.113.1"), account) == nil {
		t.Error("the owner's sign-in has opened the door to strangers")
	}
	if err := l.LoginAllowed(from(t, "203.0.113.1"), "bob@example.com"); err != nil {
		t.Errorf("another account: %v", err)
	}
	w.clock.Advance(wait)
	if looked := attack(t, w, l, 30); looked != 10 {
		t.Errorf("after the lock %d wrong passwords were looked at, want ten again", looked)
	}
}

// A known network has a lock of its own: who sits beside the owner cannot guess without end.
func TestLockoutOfAKnownNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	home := from(t, "198.51.100.1")
	l.LoginSucceeded(home, account)
	looked := 0
	for range 20 {
		if l.LoginAllowed(home, account) == nil {
			l.LoginFailed(home, account)
			looked++
		}
		w.clock.Advance(10 * time.Second)
	}
	if looked != 10 {
		t.Errorf("%d wrong passwords were looked at", looked)
	}
	if err := l.LoginAllowed(from(t, "203.0.113.1"), account); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

// Failures count when they come in a row and soon after each other.
func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	away := from(t, "203.0.113.1")
	for range 5 {
		attack(t, w, l, 9)
		l.LoginSucceeded(away, "somebody.else@example.com")
		w.clock.Advance(15 * time.Minute)
	}
	if err := l.LoginAllowed(away, account); err != nil {
		t.Errorf("failures of a long time: %v", err)
	}
	for i := range 5 {
		attack(t, w, l, 9)
		l.LoginSucceeded(from(t, fmt.Sprintf("203.0.113.%d", i+2)), account) // from a new place each time
	}
	if err := l.LoginAllowed(away, account); err != nil {
		t.Errorf("failures with successes between them: %v", err)
	}
	w.clock.Advance(31 * 24 * time.Hour)
	if looked := attack(t, w, l, 20); looked != 10 {
		t.Errorf("%d wrong passwords were looked at", looked)
	}
	if l.LoginAllowed(from(t, "203.0.113.2"), account) == nil {
		t.Error("a network is remembered for ever")
	}
}

// Attempts are limited whether they fail or not, before any password is hashed.
func TestAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(func(c *config.Config) { c.RateLimitLogin, c.RateLimitLoginAddress = 5, 8 })
	l := w.instance(t)
	for i := range 7 {
		if err := l.LoginAllowed(from(t, fmt.Sprintf("192.0.2.%d", i)), account); (err == nil) != (i < 5) {
			t.Errorf("attempt %d at one account: %v", i, err)
		}
	}
	for i := range 10 {
		if err := l.LoginAllowed(from(t, "198.51.100.7"), fmt.Sprint(i)); (err == nil) != (i < 8) {
			t.Errorf("attempt %d from one network: %v", i, err)
		}
	}
	for _, odd := range []string{"", strings.Repeat("x", 100_000), "\x00\r\n", "\xff"} {
		if err := l.LoginAllowed(from(t, "203.0.113.9"), odd); err != nil {
			t.Errorf("%.10q: %v", odd, err)
		}
		l.LoginFailed(from(t, "203.0.113.9"), odd)
	}
}

func TestResets(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	for i := range 4 {
		if err := l.ResetAllowed(from(t, fmt.Sprintf("192.0.2.%d", i)), account); (err == nil) != (i < 2) {
			t.Errorf("reset %d of one account: %v", i, err)
		}
	}
	for i := range 4 {
		if err := l.ResetAllowed(from(t, "198.51.100.1"), fmt.Sprint(i)); (err == nil) != (i < 2) {
			t.Errorf("reset %d from one network: %v", i, err)
		}
	}
	w.clock.Advance(time.Hour)
	if err := l.ResetAllowed(from(t, "192.0.2.1"), account); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// Lockouts and quotas work on a database as well.
func TestOnADatabase(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := withQuota(5)
		store := sqlkv.New(db, w.clock, discard())
		t.Cleanup(func() { _ = store.Close() })
		w.shared = struct{ kv.Store }{store}
		l := w.instance(t)
		if looked := attack(t, w, l, 12); looked != 10 {
			t.Errorf("%d wrong passwords were looked at", looked)
		}
		if got := admitted(from(t, somewhere), l, user("u"), 8); got != 5 {
			t.Errorf("%d calls went through", got)
		}
		if got := admitted(from(t, somewhere), w.instance(t), user("u"), 8); got > 1 {
			t.Errorf("%d more calls went through elsewhere", got)
		}
	}, sqlkv.Migrations())
}
