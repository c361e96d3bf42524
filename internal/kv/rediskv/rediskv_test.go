package rediskv_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/kv"
	"atelier/internal/kv/kvtest"
	"atelier/internal/kv/rediskv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is the server of the tests, with a prefix nobody else has.
func config(tb testing.TB) rediskv.Config {
	tb.Helper()
	return rediskv.Config{URL: kvtest.RedisURL(tb), Prefix: "test:" + ident.Source{}.UUID() + ":"}
}

func open(tb testing.TB, cfg rediskv.Config) *rediskv.Store {
	tb.Helper()
	store, err := rediskv.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	return store
}

// raw is a client beside the store.
func raw(tb testing.TB) rueidis.Client {
	tb.Helper()
	options, err := rueidis.ParseURL(kvtest.RedisURL(tb))
	if err != nil {
		tb.Fatal(err)
	}
	options.DisableCache = true
	options.ForceSingleClient = len(options.InitAddress) == 1
	client, err := rueidis.NewClient(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// serverTime is the server's clock in microseconds.
func serverTime(tb testing.TB, client rueidis.Client) int64 {
	tb.Helper()
	parts, err := client.Do(tb.Context(), client.B().Time().Build()).AsIntSlice()
	if err != nil {
		tb.Fatal(err)
	}
	return parts[0]*1_000_000 + parts[1]
}

func TestContract(t *testing.T) {
	t.Parallel()
	client := raw(t)
	fresh := func(t *testing.T) kv.Store {
		t.Helper()
		return open(t, config(t))
	}
	kvtest.Run(t, fresh, func(d time.Duration) {
		until := serverTime(t, client) + d.Microseconds()
		kvtest.Eventually(t, "time passes on the server", func() bool { return serverTime(t, client) > until })
	})
}

func TestDriver(t *testing.T) {
	t.Parallel()
	if got := open(t, config(t)).Driver(); got != "redis" {
		t.Errorf("driver %q", got)
	}
}

// A server that was restarted has forgotten the scripts.
func TestSendsForgottenScriptsAgain(t *testing.T) {
	t.Parallel()
	store, client := open(t, config(t)), raw(t)
	if err := client.Do(t.Context(), client.B().ScriptFlush().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if decision, err := store.Take(t.Context(), "key", kv.Limit{Count: 1, Period: time.Hour}); err != nil || !decision.Allowed {
		t.Errorf("take: %+v, %v", decision, err)
	}
	if _, err := store.Swap(t.Context(), "key", []byte("old"), []byte("new"), time.Hour); err != nil {
		t.Errorf("swap: %v", err)
	}
}

// F-RED-02: a silent server holds nobody longer than the context, and loses nothing when it speaks again.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	g := newGate(t, host(t, cfg.URL), nil)
	cfg.URL = g.address(t, cfg.URL, "redis")
	store := open(t, cfg)
	g.hold()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := store.Take(ctx, "key", kv.Limit{Count: 1, Period: time.Hour})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("take from a silent server: %v", err)
		}
	}
	g.release()
	if err := store.Set(t.Context(), "key", []byte("value"), time.Hour); err != nil {
		t.Errorf("after the silence: %v", err)
	}
}

// F-RED-01: a server that is gone gives errors to fall back on, at once, and is found again when it is back.
func TestServerGone(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	g := newGate(t, host(t, cfg.URL), nil)
	cfg.URL = g.address(t, cfg.URL, "redis")
	store := open(t, cfg)
	g.cut()
	kvtest.Eventually(t, "calls fail", func() bool { return store.Ping(t.Context()) != nil })
	for range 5 {
		_, err := store.Take(t.Context(), "key", kv.Limit{Count: 1, Period: time.Hour})
		if errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("take without a server: %v", err)
		}
	}
	g.mend()
	kvtest.Eventually(t, "the server is found again", func() bool { return store.Ping(t.Context()) == nil })
}

// While one caller waits for a new connection, another with less time must not wait for it.
func TestImpatientCallerBesideAPatientOne(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	g := newGate(t, host(t, cfg.URL), nil)
	cfg.URL = g.address(t, cfg.URL, "redis")
	store := open(t, cfg)
	g.hold()
	g.cut()
	g.mend()
	kvtest.Eventually(t, "the lost connection is noticed", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return errors.Is(store.Ping(ctx), context.DeadlineExceeded)
	})
	patient := make(chan error, 1)
	go func() { patient <- store.Ping(t.Context()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := store.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the impatient caller: %v", err)
	}
	select {
	case err := <-patient:
		t.Errorf("the impatient caller waited for the patient one, who got %v", err)
	default:
	}
	g.release()
	if err := <-patient; err != nil {
		t.Errorf("the patient caller: %v", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	own, file := certificate(t)
	g := newGate(t, host(t, cfg.URL), own)
	cfg.URL = g.address(t, cfg.URL, "rediss")
	if _, err := rediskv.Open(t.Context(), cfg); errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("a certificate nobody vouches for: %v", err)
	}
	cfg.CAFile = file
	if err := open(t, cfg).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := newGate(t, "", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := rediskv.Open(ctx, rediskv.Config{URL: g.address(t, "redis://host", "redis")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("open at a silent server: %v", err)
	}
}

func TestErrorsHideThePassword(t *testing.T) {
	t.Parallel()
	const password = "s3cret-password"
	address := parrot(t)
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]rediskv.Config{
		"repeated by the server":  {URL: "redis://" + address, Password: password},
		"repeated from the URL":   {URL: "redis://user:" + password + "@" + address},
		"nobody there":            {URL: "redis://user:" + password + "@127.0.0.1:1"},
		"not a number":            {URL: "redis://user:" + password + "@" + address + "/" + password},
		"not an address":          {URL: "redis://user:" + password + "@[::1"},
		"another scheme":          {URL: password + "://" + address},
		"nothing":                 {Password: password},
		"a CA without TLS":        {URL: "redis://" + address, Password: password, CAFile: empty},
		"a CA that is not one":    {URL: "rediss://" + address, Password: password, CAFile: empty},
		"a CA that is not there":  {URL: "rediss://" + address, Password: password, CAFile: filepath.Join(folder, "none.pem")},
		"TLS to a server without": {URL: "rediss://" + address, Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rediskv.Open(t.Context(), cfg)
			if err == nil {
				t.Fatal("opened")
			}
			for cause := err; cause != nil; cause = errors.Unwrap(cause) {
				if strings.Contains(cause.Error(), password) {
					t.Errorf("the password is in %q", cause)
				}
			}
			if strings.Contains(name, "repeated") && !strings.Contains(err.Error(), "***") {
				t.Errorf("the server's words are lost: %q", err)
			}
		})
	}
}

func BenchmarkTake(b *testing.B) {
	limit := kv.Limit{Count: 1_000_000, Period: time.Second}
	take := func(b *testing.B, store kv.Store) {
		b.Helper()
		if _, err := store.Take(b.Context(), "key", limit); err != nil {
			b.Error(err)
		}
	}
	b.Run("one caller", func(b *testing.B) {
		store := open(b, config(b))
		b.ReportAllocs()
		for b.Loop() {
			take(b, store)
		}
	})
	b.Run("64 callers", func(b *testing.B) {
		store := open(b, config(b))
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				take(b, store)
			}
		})
	})
}
