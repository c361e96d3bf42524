// Package sqldbtest opens databases for tests: SQLite always, PostgreSQL when a server is provided.
package sqldbtest

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that creates the test's own database

	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqlite"
)

// Each runs the test on every engine, each time on a new empty database with the components migrated.
func Each(t *testing.T, run func(t *testing.T, db *sqldb.DB), components ...sqldb.Migrations) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); run(t, SQLite(t, components...)) })
	t.Run("postgresql", func(t *testing.T) { t.Parallel(); run(t, Postgres(t, components...)) })
}

// EachTwice runs the test on every engine, on a new empty database that is opened as two processes open it.
func EachTwice(t *testing.T, run func(t *testing.T, a, b *sqldb.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		open := func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), path) }
		run(t, opened(t, open), opened(t, open))
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		address := PostgresURL(t)
		open := func() (*sqldb.DB, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 4})
		}
		run(t, opened(t, open), opened(t, open))
	})
}

// SQLite opens a new database file.
func SQLite(t testing.TB, components ...sqldb.Migrations) *sqldb.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	if len(components) > 0 {
		copySQLite(t, path, components)
	}
	return opened(t, func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), path) })
}

// Postgres creates a database of its own on the provided server; it skips, loudly, when there is none.
func Postgres(t testing.TB, components ...sqldb.Migrations) *sqldb.DB {
	t.Helper()
	address := postgresWith(t, components)
	return opened(t, func() (*sqldb.DB, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 16})
	})
}

// PostgresURL creates an empty database on the provided server, dropped after the test, and gives its address.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return postgresWith(t, nil)
}

// postgresWith creates a database that has the components' tables.
func postgresWith(t testing.TB, components []sqldb.Migrations) string {
	t.Helper()
	server := os.Getenv("TEST_POSTGRES_URL")
	if server == "" {
		t.Skip("SKIPPED: postgresql: TEST_POSTGRES_URL is not set")
	}
	admin, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t_" + strings.ReplaceAll(ident.Source{}.UUID(), "-", "")
	template := "template1"
	if len(components) > 0 {
		template = templateOf(t, admin, server, components)
	}
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		if err != nil {
			t.Errorf("drop the test database: %v", err)
		}
		_ = admin.Close()
	})
	return named(t, server, name)
}

// named is the address of a database on a server.
func named(t testing.TB, server, name string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// opened closes the database after the test.
func opened(t testing.TB, open func() (*sqldb.DB, error)) *sqldb.DB {
	t.Helper()
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}
