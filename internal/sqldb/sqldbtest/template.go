package sqldbtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqlite"
)

// Most tests begin with the tables of a few components. They are made once, and every test gets a copy.

// files are the SQLite databases that this process has made, by the sum of what they were made from: all its tests share them.
var files = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}

// copySQLite puts a database with the components' tables at a path.
func copySQLite(t testing.TB, path string, components []sqldb.Migrations) {
	t.Helper()
	files.Lock()
	defer files.Unlock()
	key := sum(t, components)
	content, ok := files.made[key]
	if !ok {
		var err error
		if content, err = sqliteWith(components); err != nil {
			t.Fatal(err)
		}
		files.made[key] = content
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func sqliteWith(components []sqldb.Migrations) ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqldbtest")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "template.db")
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	_, err = sqldb.Migrate(context.Background(), db, time.UnixMilli(0), components...)
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// templateOf is the database on the server that has the components' tables. It stays there for the tests of other packages:
// its name is the sum of what it was made from, and it gets it when it is whole.
func templateOf(t testing.TB, admin *sql.DB, server string, components []sqldb.Migrations) string {
	t.Helper()
	const lock = 7_312_846 // a key of our own among the server's advisory locks
	name := "template_" + sum(t, components)
	conn, err := admin.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	known := func() (is bool) {
		if err := conn.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, name).Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	if known() {
		return name
	}
	run := func(statement string) {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run(fmt.Sprintf("SELECT pg_advisory_lock(%d)", lock))
	defer run(fmt.Sprintf("SELECT pg_advisory_unlock(%d)", lock))
	if known() { // another process was first
		return name
	}
	run("DROP DATABASE IF EXISTS making_" + name)
	run("CREATE DATABASE making_" + name)
	migratePostgres(t, named(t, server, "making_"+name), components)
	run("ALTER DATABASE making_" + name + " RENAME TO " + name)
	return name
}

func migratePostgres(t testing.TB, address string, components []sqldb.Migrations) {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqldb.Migrate(t.Context(), db, time.UnixMilli(0), components...)
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sum tells components by the text of their migrations.
func sum(t testing.TB, components []sqldb.Migrations) string {
	t.Helper()
	hash := sha256.New()
	for _, component := range components {
		_, _ = fmt.Fprintln(hash, component.Component)
		err := fs.WalkDir(component.Files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(component.Files, path)
			_, _ = fmt.Fprintln(hash, path, len(text))
			_, _ = hash.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:12])
}
