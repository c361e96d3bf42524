package limits_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/httpx"
	"atelier/internal/kv"
	"atelier/internal/kv/memkv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin is an hour and a half before midnight.
func begin() time.Time { return time.Date(2026, 3, 1, 22, 30, 0, 0, time.UTC) }

// settings are small numbers that can be counted to, all different.
func settings() config.Config {
	return config.Config{
		RateLimitUser: 60, RateLimitKey: 120, RateLimitAddress: 30, RateLimitEvents: 20, RateLimitCreate: 6, RateLimitImport: 5,
		RateLimitUpload: 12, RateLimitSignup: 2, RateLimitAnonymous: 3, RateLimitExchange: 4, RateLimitReset: 2, RateLimitLogin: 1000,
		RateLimitLoginAddress: 1000, CredentialFailures: 10, CredentialFailuresNet: 30, Concurrent: 5, ConcurrentAddress: 2, Streams: 3, StreamsAddress: 1,
	}
}

// world is one or more instances that share their stores.
type world struct {
	clock  *clock.Manual
	shared kv.Store
	cfg    config.Config
}

func newWorld(change func(*config.Config)) *world {
	w := &world{clock: clock.NewManual(begin()), cfg: settings()}
	w.shared = memkv.New(w.clock)
	if change != nil {
		change(&w.cfg)
	}
	return w
}

func (w *world) instance(t testing.TB) *limits.Limits {
	t.Helper()
	l, err := limits.New(limits.Deps{
		Limiter: w.shared, Store: w.shared, Clock: w.clock, Log: slog.New(slog.DiscardHandler), Config: w.cfg,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func from(t testing.TB, address string) context.Context {
	t.Helper()
	return httpx.WithInfo(t.Context(), &httpx.Info{Client: netip.MustParseAddr(address)})
}

func user(id string) access.Principal {
	return access.Principal{Kind: access.User, Credential: access.BySession, UserID: id}
}

const somewhere = "192.0.2.1"

// call makes a request that ends at once.
func call(ctx context.Context, l *limits.Limits, p access.Principal, method, path string) (http.Header, error) {
	h := http.Header{}
	release, err := l.Admit(ctx, p, limits.Call{Method: method, Path: path, Header: h})
	release()
	return h, err
}

// admitted counts how many of the calls went through.
func admitted(ctx context.Context, l *limits.Limits, p access.Principal, calls int) int {
	n := 0
	for range calls {
		if _, err := call(ctx, l, p, http.MethodGet, "/v2/me"); err == nil {
			n++
		}
	}
	return n
}

// refusal insists on a refusal with the code and a time to wait of whole seconds, and gives that time.
func refusal(t testing.TB, err error, code errs.Code) time.Duration {
	t.Helper()
	own, ok := errors.AsType[*errs.Error](err)
	if !ok || own.Code != code || own.Status() != http.StatusTooManyRequests {
		t.Fatalf("%v, want %s", err, code)
	}
	if own.RetryAfter < time.Second || own.RetryAfter%time.Second != 0 {
		t.Fatalf("wait %s, want whole seconds", own.RetryAfter)
	}
	return own.RetryAfter
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
