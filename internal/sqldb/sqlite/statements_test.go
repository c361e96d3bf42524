package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"atelier/internal/sqldb"
)

func change(ctx context.Context, db *sqldb.DB, query string, args ...any) error {
	return db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Statements are kept by their text: two that are read at the same time are two, one that failed leaves nothing behind, and one
// that is older than a change of the tables sees the change.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t, filepath.Join(t.TempDir(), "kept.db"))
	const insert = `INSERT INTO things (id) VALUES ($1)`
	for _, query := range []string{`CREATE TABLE things (id BIGINT NOT NULL PRIMARY KEY)`, `INSERT INTO things (id) VALUES (1), (2)`} {
		if err := change(ctx, db, query); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := change(ctx, db, insert, 1); sqldb.KindOf(err) != sqldb.KindUnique {
			t.Errorf("a second row with the same key: %v", err)
		}
	}
	if err := change(ctx, db, insert, 3); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	if err := db.Tx(ctx, func(tx *sqldb.Tx) error { return pairs(ctx, tx, 9) }); err != nil {
		t.Error(err)
	}
	const all = `SELECT * FROM things ORDER BY id LIMIT 1`
	if columns := columnsOf(t, db, all); len(columns) != 1 {
		t.Errorf("before the change: %v", columns)
	}
	if err := change(ctx, db, `ALTER TABLE things ADD COLUMN name TEXT NOT NULL DEFAULT 'none'`); err != nil {
		t.Fatal(err)
	}
	if columns := columnsOf(t, db, all); len(columns) != 2 {
		t.Errorf("after the change: %v", columns)
	}
}

// pairs reads the same query inside itself.
func pairs(ctx context.Context, tx *sqldb.Tx, want int) error {
	const query = `SELECT id FROM things ORDER BY id`
	outer, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = outer.Close() }()
	count := 0
	for outer.Next() {
		within, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) }, query)
		if err != nil {
			return err
		}
		count += len(within)
	}
	if count != want {
		return fmt.Errorf("%d pairs instead of %d", count, want)
	}
	return outer.Err()
}

func columnsOf(t *testing.T, db *sqldb.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err = errors.Join(err, rows.Err()); err != nil {
		t.Fatal(err)
	}
	return columns
}

// However many different statements there are, a connection keeps some of them and answers all.
func TestManyStatements(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "many.db"))
	for round := range 2 {
		for i := range 300 {
			var got int
			if err := db.QueryRow(t.Context(), fmt.Sprintf(`SELECT %d + $1`, i), round).Scan(&got); err != nil || got != i+round {
				t.Fatalf("%d: %d %v", i, got, err)
			}
		}
	}
}
