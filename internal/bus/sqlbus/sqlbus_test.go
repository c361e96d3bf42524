package sqlbus_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/bus"
	"atelier/internal/bus/bustest"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		t.Helper()
		return fixture(sqldbtest.SQLite(t, sqlbus.Migrations()))
	})
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	sqldbtest.PostgresURL(t)
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		t.Helper()
		return fixture(sqldbtest.Postgres(t, sqlbus.Migrations()))
	})
}

func fixture(db *sqldb.DB) bustest.Fixture {
	return bustest.Fixture{DB: db, Open: func(t *testing.T, clk clock.Clock) bus.Log {
		t.Helper()
		log, err := sqlbus.Open(db, clk, slog.New(slog.NewTextHandler(t.Output(), nil)), sqlbus.WithLease(bustest.Lease))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := log.Close(); err != nil {
				t.Errorf("close the log: %v", err)
			}
		})
		return log
	}}
}
