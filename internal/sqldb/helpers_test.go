package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"atelier/internal/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errRefused is what a transaction of a test fails with.
var errRefused = errors.New("refused")

// things is a table with one constraint of each kind.
func things() sqldb.Migrations {
	return migrations("0001_things.sql", `CREATE TABLE things (
		id     TEXT   NOT NULL PRIMARY KEY,
		n      BIGINT NOT NULL CHECK (n >= 0),
		parent TEXT   REFERENCES things (id)
	);`)
}

// migrations makes a component from names and texts in turn.
func migrations(files ...string) sqldb.Migrations {
	dir := fstest.MapFS{}
	for pair := range slices.Chunk(files, 2) {
		dir[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return sqldb.Migrations{Component: "test", Files: dir}
}

func insert(ctx context.Context, tx *sqldb.Tx, id string) error {
	_, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ($1, 1)`, id)
	return err
}

// add stores a thing in a transaction of its own.
func add(ctx context.Context, db *sqldb.DB, id string) error {
	return db.Tx(ctx, func(tx *sqldb.Tx) error { return insert(ctx, tx, id) })
}

// wantThings fails the test unless exactly these are stored.
func wantThings(t *testing.T, r sqldb.Reader, want ...string) {
	t.Helper()
	got, err := ids(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("stored: %v, want %v", got, want)
	}
}

func ids(ctx context.Context, r sqldb.Reader) ([]string, error) {
	got, err := sqldb.All(ctx, r, func(rows *sql.Rows) (id string, err error) {
		return id, rows.Scan(&id)
	}, `SELECT id FROM things`)
	slices.Sort(got)
	return got, err
}
