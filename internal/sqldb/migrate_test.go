package sqldb_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

const (
	first  = `CREATE TABLE first (id TEXT NOT NULL PRIMARY KEY);`
	second = "-- a comment; with a semicolon\nCREATE TABLE second (id TEXT NOT NULL);\n\nINSERT INTO second (id)\nVALUES ('a;b');\n"
)

func migrate(t *testing.T, db *sqldb.DB, components ...sqldb.Migrations) ([]sqldb.Applied, error) {
	t.Helper()
	return sqldb.Migrate(t.Context(), db, time.UnixMilli(1234), components...)
}

func wantMigrated(t *testing.T, db *sqldb.DB, want []sqldb.Applied, components ...sqldb.Migrations) {
	t.Helper()
	applied, err := migrate(t, db, components...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Error(diff)
	}
}

// wantRows fails the test unless the table exists and holds as many rows.
func wantRows(t *testing.T, db *sqldb.DB, table string, want int) {
	t.Helper()
	var n int
	if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil || n != want {
		t.Errorf("%s: %d rows, error %v, want %d", table, n, err, want)
	}
}

func TestMigrateTwiceDoesNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		one := migrations("0001_first.sql", first)
		wantMigrated(t, db, []sqldb.Applied{{Component: "test", Version: 1, Name: "0001_first"}}, one)
		wantMigrated(t, db, nil, one)
		two := migrations("0002_second.sql", second, "0001_first.sql", first)
		wantMigrated(t, db, []sqldb.Applied{{Component: "test", Version: 2, Name: "0002_second"}}, two)
		wantMigrated(t, db, nil, two)
		wantRows(t, db, "second", 1)
		var at int64
		err := db.QueryRow(t.Context(), `SELECT applied_at FROM schema_migrations WHERE version = 2 AND component = 'test'`).Scan(&at)
		if err != nil || at != 1234 {
			t.Errorf("applied at %d, error %v", at, err)
		}
	})
}

func TestMigrateOfTwoProcessesAtOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachTwice(t, func(t *testing.T, a, b *sqldb.DB) {
		component := migrations("0001_first.sql", first, "0002_second.sql", second, "0003_third.sql", `INSERT INTO second (id) VALUES ('c');`)
		var mu sync.Mutex
		var steps int
		var running sync.WaitGroup
		for _, db := range []*sqldb.DB{a, b, a, b} {
			running.Go(func() {
				applied, err := migrate(t, db, component)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				steps += len(applied)
			})
		}
		running.Wait()
		if steps != 3 {
			t.Errorf("%d steps were applied by all together, want 3", steps)
		}
		wantRows(t, a, "second", 2)
	})
}

func TestMigrateRefusesAChangedStep(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		wantMigrated(t, db, []sqldb.Applied{{Component: "test", Version: 1, Name: "0001_first"}}, migrations("0001_first.sql", first))
		_, err := migrate(t, db, migrations("0001_first.sql", first+" ", "0002_second.sql", second))
		if err == nil || !strings.Contains(err.Error(), "migration test/0001_first was changed after it had been applied") {
			t.Errorf("error %v, want that the step was changed", err)
		}
		if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM second`).Scan(new(int)); err == nil {
			t.Error("a later step was applied all the same")
		}
	})
}

// An older release starts beside a newer one during a rolling update.
func TestMigrateToleratesANewerSchema(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		newer := migrations("0001_first.sql", first, "0002_second.sql", second)
		if _, err := migrate(t, db, newer); err != nil {
			t.Fatal(err)
		}
		wantMigrated(t, db, nil, migrations("0001_first.sql", first))
		wantRows(t, db, "second", 1)
	})
}

func TestMigrateTakesTheFileOfItsEngine(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		component := migrations(
			"0001_first.sqlite.sql", `CREATE TABLE engine_sqlite (id TEXT NOT NULL);`,
			"0001_first.postgresql.sql", `CREATE TABLE engine_postgresql (id TEXT NOT NULL);`,
		)
		wantMigrated(t, db, []sqldb.Applied{{Component: "test", Version: 1, Name: "0001_first"}}, component)
		wantRows(t, db, "engine_"+db.Driver(), 0)
	})
}

func TestMigrateLeavesNothingOfAFailedStep(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		broken := migrations("0001_first.sql", first, "0002_broken.sql", "CREATE TABLE half (id TEXT NOT NULL);\nCREATE TABEL whole;")
		applied, err := migrate(t, db, broken)
		if err == nil || !strings.Contains(err.Error(), "migration test/0002_broken: CREATE TABEL whole;: ") {
			t.Errorf("error %v, want the step and its statement", err)
		}
		if len(applied) != 1 {
			t.Errorf("applied %v, want the step before", applied)
		}
		if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM half`).Scan(new(int)); err == nil {
			t.Error("half a step was kept")
		}
		mended := migrations("0001_first.sql", first, "0002_mended.sql", `CREATE TABLE half (id TEXT NOT NULL)`)
		wantMigrated(t, db, []sqldb.Applied{{Component: "test", Version: 2, Name: "0002_mended"}}, mended)
	})
}

func TestMigrateRefusesFilesWithoutAnOrder(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t)
	for _, component := range []sqldb.Migrations{
		migrations("0001_a.sql", first, "0001_b.sql", second),
		migrations("0001_a.sql", first, "0001_b.sqlite.sql", second),
		migrations("first.sql", first),
	} {
		if _, err := migrate(t, db, component); err == nil || !strings.Contains(err.Error(), "its number is missing or used twice") {
			t.Errorf("error %v, want that the number is wrong", err)
		}
	}
}

func TestMigrateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sqldb.Migrate(ctx, db, time.UnixMilli(0), migrations("0001_first.sql", first)); err == nil {
			t.Error("no error")
		}
	})
}
