package natsbus_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"atelier/internal/bus"
	"atelier/internal/bus/bustest"
	"atelier/internal/bus/natsbus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	bustest.NATS(t)
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		t.Helper()
		return conform(t, sqldbtest.SQLite(t, sqlbus.Migrations()))
	})
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	bustest.NATS(t)
	sqldbtest.PostgresURL(t)
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		t.Helper()
		return conform(t, sqldbtest.Postgres(t, sqlbus.Migrations()))
	})
}

// conform is a log of a stream of its own whose consumers never give up waiting for the broker, so that what they get
// without a gap came through it.
func conform(t *testing.T, db *sqldb.DB) bustest.Fixture {
	t.Helper()
	cfg := config(t)
	return bustest.Fixture{DB: db, Open: func(t *testing.T, clk clock.Clock) bus.Log {
		t.Helper()
		return open(t, cfg, db, clk, natsbus.WithPatience(time.Hour))
	}}
}

// config names a stream of the test's own, removed afterwards.
func config(t *testing.T) natsbus.Config {
	t.Helper()
	cfg := natsbus.Config{
		URLs:      bustest.NATS(t),
		Namespace: "t" + strings.ReplaceAll(ident.Source{}.UUID(), "-", ""),
	}
	cfg.Replicas = min(len(cfg.URLs), 3)
	t.Cleanup(func() {
		js := connect(t, cfg.URLs)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := js.DeleteStream(ctx, streamOf(cfg)); err != nil && !strings.Contains(err.Error(), "not found") {
			t.Logf("remove the stream: %v", err)
		}
	})
	return cfg
}

func streamOf(cfg natsbus.Config) string { return strings.ToUpper(cfg.Namespace) + "_EVENTS" }

// connect is the test's own way to the broker.
func connect(t *testing.T, servers []string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(strings.Join(servers, ","))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func open(t *testing.T, cfg natsbus.Config, db *sqldb.DB, clk clock.Clock, opts ...natsbus.Option) *natsbus.Log {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	opts = append([]natsbus.Option{natsbus.WithLease(bustest.Lease)}, opts...)
	l, err := natsbus.Open(t.Context(), cfg, db, clk, log, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close the log: %v", err)
		}
	})
	return l
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
