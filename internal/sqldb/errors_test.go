package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func wantKind(t *testing.T, want sqldb.Kind, err error) {
	t.Helper()
	if got := sqldb.KindOf(err); err == nil || got != want {
		t.Errorf("kind %d of %v, want %d", got, err, want)
	}
}

func TestErrorsByKind(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := add(ctx, db, "a"); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			statement string
			kind      sqldb.Kind
			code      errs.Code
		}{
			{`INSERT INTO things (id, n) VALUES ('a', 1)`, sqldb.KindUnique, errs.Conflict},
			{`INSERT INTO things (id, n, parent) VALUES ('b', 1, 'nobody')`, sqldb.KindForeignKey, errs.Conflict},
			{`INSERT INTO things (id, n) VALUES ('b', -1)`, sqldb.KindCheck, errs.Conflict},
			{`INSERT INTO things (id) VALUES ('b')`, sqldb.KindCheck, errs.Conflict},
			{`INSERT INTO nowhere (id) VALUES ('b')`, sqldb.KindOther, errs.Database},
			{`INSERT INTO`, sqldb.KindOther, errs.Database},
		} {
			err := db.Tx(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, test.statement)
				return err
			})
			wantKind(t, test.kind, err)
			if code := errs.CodeOf(err); code != test.code {
				t.Errorf("%s: code %s, want %s", test.statement, code, test.code)
			}
			if sqldb.IsUnique(err) != (test.kind == sqldb.KindUnique) {
				t.Errorf("%s: IsUnique is wrong", test.statement)
			}
		}
		wantThings(t, db, "a")
	}, things())
}

func TestMissingRow(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		var n int
		if err := db.QueryRow(ctx, `SELECT n FROM things WHERE id = $1`, "nobody").Scan(&n); !sqldb.IsNotFound(err) {
			t.Errorf("on the pool: %v", err)
		}
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			return tx.QueryRow(ctx, `SELECT n FROM things WHERE id = $1`, "nobody").Scan(&n)
		})
		if !sqldb.IsNotFound(err) || sqldb.IsNotFound(errRefused) {
			t.Errorf("in a transaction: %v", err)
		}
	}, things())
}

func TestFailedQueries(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		text := func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }
		_, err := sqldb.All(ctx, db, text, `SELECT id FROM nowhere`)
		wantKind(t, sqldb.KindOther, err)
		if err := add(ctx, db, "a"); err != nil {
			t.Fatal(err)
		}
		_, err = sqldb.All(ctx, db, func(*sql.Rows) (int, error) { return 0, errRefused }, `SELECT id FROM things`)
		if !errors.Is(err, errRefused) {
			t.Errorf("error %v, want that of the scan", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := sqldb.All(ended, db, text, `SELECT id FROM things`); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		if err := db.Ping(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		if err := db.Ping(ctx); err != nil {
			t.Error(err)
		}
	}, things())
}

// An error in the middle of the rows has a kind as well: on both engines the row of 'b' cannot be computed.
func TestFailureBetweenRows(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		for _, id := range []string{"a", "b"} {
			if err := add(ctx, db, id); err != nil {
				t.Fatal(err)
			}
		}
		query := map[string]string{
			"sqlite":     `SELECT abs(CASE id WHEN 'a' THEN 1 ELSE -9223372036854775807 - 1 END) FROM things ORDER BY id`,
			"postgresql": `SELECT 1 / (CASE id WHEN 'a' THEN 1 ELSE 0 END) FROM things ORDER BY id`,
		}[db.Driver()]
		got, err := sqldb.All(ctx, db, func(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }, query)
		if errs.CodeOf(err) != errs.Database || got != nil {
			t.Errorf("%v, error %v, want code %s", got, err, errs.Database)
		}
	}, things())
}
