package limits_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
)

// Every call is in one class, which its headers name together with the limit.
func TestClasses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"GET /v2/me":                                   `"default";q=60;w=60`,
		"GET /":                                        `"default";q=60;w=60`,
		"POST /oidc/token":                             `"default";q=60;w=60`,
		"GET /v2/workspaces":                           `"default";q=60;w=60`,
		"POST /v2/workspaces":                          `"createWorkspace";q=6;w=60`,
		"PATCH /v2/workspaces/abc":                     `"default";q=60;w=60`,
		"POST /v2/workspaces/import":                   `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/import":               `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/pull":                 `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/duplicate":            `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/versions/v1/pull":     `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/versions/1/duplicate": `"importWorkspace";q=5;w=60`,
		"POST /v2/workspaces/abc/versions":             `"default";q=60;w=60`,
		"POST /v2/workspaces/abc/push":                 `"default";q=60;w=60`,
		"GET /v2/workspaces/abc/import":                `"default";q=60;w=60`,
		"POST /v2/workspaces/abc/files":                `"uploadFile";q=12;w=60`,
		"GET /v2/workspaces/abc/files":                 `"default";q=60;w=60`,
		"POST /v2/user/photo":                          `"uploadFile";q=12;w=60`,
		"GET /v2/workspaces/abc/events":                `"searchEvents";q=20;w=60`,
		"POST /v2/workspaces/abc/events":               `"searchEvents";q=20;w=60`,
		"GET /v2/workspaces/abc/events/1-0":            `"searchEvents";q=20;w=60`,
		"POST /v2/workspaces/abc/search":               `"searchEvents";q=20;w=60`,
		"GET /v2/workspaces/abc/usage":                 `"searchEvents";q=20;w=60`,
		"POST /v2/search":                              `"searchEvents";q=20;w=60`,
		"GET /v2/workspaces/abc/pages/events":          `"default";q=60;w=60`,
		"GET /v2/workspaces/events":                    `"default";q=60;w=60`,
		"POST /v2/signup":                              `"signup";q=2;w=60`,
		"POST /v2/login/anonymous":                     `"anonymousLogin";q=3;w=60`,
		"POST /v2/login/token-exchange":                `"tokenExchange";q=4;w=60`,
		"GET /v2/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r":  `"default";q=60;w=60`,
	} {
		method, path, _ := cut(line)
		h, err := call(from(t, somewhere), newWorld(nil).instance(t), user("u"), method, path)
		if err != nil || h.Get("RateLimit-Policy") != want {
			t.Errorf("%s: %s %v, want %s", line, h.Get("RateLimit-Policy"), err, want)
		}
	}
}

func cut(line string) (method, path string, err error) {
	_, err = fmt.Sscan(line, &method, &path)
	return method, path, err
}

// Each kind of caller has its limit; what is counted is the caller, or the network of a visitor and of one without a credential.
func TestCallers(t *testing.T) {
	t.Parallel()
	visitor := access.Principal{Kind: access.Anonymous, UserID: "v"}
	key := access.Principal{Kind: access.Key, KeyID: "k"}
	l := newWorld(nil).instance(t)
	const many = 200
	for _, c := range []struct {
		name, address string
		who           access.Principal
		want          int
	}{
		{"a user", "192.0.2.1", user("a"), 60},
		{"the same user elsewhere", "192.0.2.2", user("a"), 0},
		{"another user", "192.0.2.1", user("b"), 60},
		{"a key", "192.0.2.1", key, 120},
		{"a visitor", "192.0.2.1", visitor, 30},
		{"another visitor there", "192.0.2.1", access.Principal{Kind: access.Anonymous, UserID: "w"}, 0},
		{"nobody there", "192.0.2.1", access.Principal{}, 0},
		{"nobody elsewhere", "192.0.2.2", access.Principal{}, 30},
		{"nobody at home", "192.168.1.1", access.Principal{}, 30},
		{"nobody on this machine", "127.0.0.1", access.Principal{}, 30},
		{"nobody with a long address", "2001:db8::1", access.Principal{}, 30},
		{"its neighbour", "2001:db8::ffff:1", access.Principal{}, 0},
		{"another network", "2001:db8:0:1::1", access.Principal{}, 30},
		{"a service of ours", "192.0.2.1", access.Principal{Kind: access.Internal}, many},
	} {
		if got := admitted(from(t, c.address), l, c.who, many); got != c.want {
			t.Errorf("%s: %d calls, want %d", c.name, got, c.want)
		}
	}
}

// A class never allows a caller more than it may do of any kind, and strict classes count the network whoever calls.
func TestClassesOfCallers(t *testing.T) {
	t.Parallel()
	l := newWorld(func(c *config.Config) { c.RateLimitAddress = 5 }).instance(t)
	h, err := call(from(t, somewhere), l, access.Principal{}, http.MethodGet, "/v2/workspaces/abc/events")
	if err != nil || h.Get("X-RateLimit-Limit") != "5" {
		t.Errorf("%v %v", h, err)
	}
	for i := range 5 {
		_, err := call(from(t, somewhere), l, user(strconv.Itoa(i)), http.MethodPost, "/v2/login/anonymous")
		if (err == nil) != (i < 3) {
			t.Errorf("anonymous sign-in %d of five accounts in one network: %v", i, err)
		}
	}
	if _, err := call(from(t, "192.0.2.9"), l, user("0"), http.MethodPost, "/v2/login/anonymous"); err != nil {
		t.Errorf("another network: %v", err)
	}
	if _, err := call(from(t, somewhere), l, user("0"), http.MethodGet, "/v2/me"); err != nil {
		t.Errorf("another class: %v", err)
	}
}

// Both families of headers are there, on calls that go through and on calls that do not.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(nil)
	l := w.instance(t)
	want := func(h http.Header, limit, remaining, reset, policy, rate string) {
		t.Helper()
		for name, value := range map[string]string{
			"X-RateLimit-Limit": limit, "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset, "RateLimit-Policy": policy, "RateLimit": rate,
		} {
			if got := h.Values(name); len(got) != 1 || got[0] != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
	}
	after := func(seconds int64) string { return strconv.FormatInt(begin().Unix()+seconds, 10) }
	policy := `"importWorkspace";q=5;w=60`
	for i := range 5 {
		h, err := call(from(t, somewhere), l, user("u"), http.MethodPost, "/v2/workspaces/a/pull")
		if err != nil {
			t.Fatal(err)
		}
		want(h, "5", strconv.Itoa(4-i), after(int64(12*(i+1))), policy, fmt.Sprintf(`"importWorkspace";r=%d;t=%d`, 4-i, 12*(i+1)))
	}
	w.clock.Advance(500 * time.Millisecond)
	h, err := call(from(t, somewhere), l, user("u"), http.MethodPost, "/v2/workspaces/a/pull")
	if wait := refusal(t, err, errs.RateLimitExceeded); wait != 12*time.Second {
		t.Errorf("wait %s", wait)
	}
	want(h, "5", "0", after(60), policy, `"importWorkspace";r=0;t=12`)
	w.clock.Advance(12 * time.Second)
	if _, err := call(from(t, somewhere), l, user("u"), http.MethodPost, "/v2/workspaces/a/pull"); err != nil {
		t.Errorf("after the wait that was asked for: %v", err)
	}
}

func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	l := newWorld(nil).instance(t)
	ctx := from(t, somewhere)
	enter := func(p access.Principal) (func(), error) {
		return l.Admit(ctx, p, limits.Call{Method: http.MethodGet, Path: "/v2/me", Header: http.Header{}})
	}
	var leave []func()
	for range 5 {
		release, err := enter(user("u"))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, release)
	}
	refused, err := enter(user("u"))
	if wait := refusal(t, err, errs.ConcurrentRequestLimit); wait != time.Second {
		t.Errorf("wait %s", wait)
	}
	refused()
	if release, err := enter(user("other")); err != nil {
		t.Errorf("another user: %v", err)
	} else {
		release()
	}
	leave[0]()
	leave[0]() // leaving twice leaves once
	if _, err := enter(user("u")); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	if _, err := enter(user("u")); err == nil {
		t.Error("one left, two entered")
	}
	for i := range 3 {
		if _, err := enter(access.Principal{}); (err == nil) != (i < 2) {
			t.Errorf("call %d of a network: %v", i, err)
		}
	}
}

// Streams have places of their own: whoever has them all can call as before, and the other way round.
func TestStreamsAtTheSameTime(t *testing.T) {
	t.Parallel()
	l := newWorld(nil).instance(t)
	ctx := from(t, somewhere)
	enter := func(p access.Principal, stream bool) (func(), error) {
		return l.Admit(ctx, p, limits.Call{Method: http.MethodGet, Path: "/v2/workspaces/a/events", Header: http.Header{}, Stream: stream})
	}
	for who, places := range map[string]struct {
		p              access.Principal
		streams, calls int
	}{"a user": {user("u"), 3, 5}, "a network": {access.Principal{}, 1, 2}} {
		var leave func()
		for range places.streams {
			var err error
			if leave, err = enter(places.p, true); err != nil {
				t.Fatalf("%s: %v", who, err)
			}
		}
		_, err := enter(places.p, true)
		refusal(t, err, errs.ConcurrentRequestLimit)
		for range places.calls {
			if _, err := enter(places.p, false); err != nil {
				t.Errorf("%s: a call beside streams: %v", who, err)
			}
		}
		_, err = enter(places.p, false)
		refusal(t, err, errs.ConcurrentRequestLimit)
		leave()
		if _, err := enter(places.p, true); err != nil {
			t.Errorf("%s: after a stream has ended: %v", who, err)
		}
	}
}

// A call that its rate refuses does not stay among the running ones.
func TestRefusedCallsAreNotRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(func(c *config.Config) { c.RateLimitUser, c.Concurrent = 1, 1 })
	l := w.instance(t)
	for range 10 {
		_, _ = l.Admit(from(t, somewhere), user("u"), limits.Call{Method: http.MethodPost, Path: "/v2/workspaces", Header: http.Header{}})
		// the first one never ends
	}
	_, err := call(from(t, somewhere), l, user("u"), http.MethodGet, "/v2/me")
	refusal(t, err, errs.ConcurrentRequestLimit)
	l = newWorld(func(c *config.Config) { c.RateLimitUser, c.Concurrent = 1, 1 }).instance(t)
	for range 10 {
		_, err = call(from(t, somewhere), l, user("u"), http.MethodGet, "/v2/me")
	}
	refusal(t, err, errs.RateLimitExceeded)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	l := newWorld(func(c *config.Config) { c.RateLimitUser, c.Concurrent = 1_000_000, 3 }).instance(t)
	var inside, most, through atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				release, err := l.Admit(from(t, somewhere), user("u"), limits.Call{Method: http.MethodGet, Path: "/v2/me", Header: http.Header{}})
				if err == nil {
					most.Store(max(most.Load(), inside.Add(1)))
					through.Add(1)
					inside.Add(-1)
				}
				release()
			}
		})
	}
	group.Wait()
	if most.Load() > 3 || through.Load() == 0 {
		t.Errorf("%d at the same time, %d in all", most.Load(), through.Load())
	}
	if got := admitted(from(t, somewhere), l, user("u"), 10); got != 10 {
		t.Errorf("%d of 10 calls went through when nothing was running", got)
	}
}

func TestTurnedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(func(c *config.Config) { c.DisableRateLimit, c.QuotaPerDay = true, 1 })
	l := w.instance(t)
	ctx := from(t, somewhere)
	for range 100 {
		h, err := call(ctx, l, user("u"), http.MethodPost, "/v2/workspaces")
		if err != nil || len(h) != 0 {
			t.Fatalf("%v %v", h, err)
		}
		l.Failed(ctx, limits.Key, "hint")
		l.LoginFailed(ctx, "a@example.com")
		if l.Blocked(ctx, limits.Key, "hint") != nil || l.LoginAllowed(ctx, "a@example.com") != nil || l.ResetAllowed(ctx, "a@example.com") != nil {
			t.Fatal("something is limited")
		}
	}
}
