package sqldb_test

import (
	"errors"
	"testing"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// A transaction that names a watched table is counted by the time it is acknowledged, others are not.
func TestWatch(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		run := func(fn func(tx *sqldb.Tx) error) {
			t.Helper()
			if err := db.Tx(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		exec := func(query string) func(tx *sqldb.Tx) error {
			return func(tx *sqldb.Tx) error { _, err := tx.Exec(ctx, query); return err }
		}
		run(exec(`CREATE TABLE wa_one (n BIGINT)`))
		run(exec(`CREATE TABLE other (n BIGINT)`))
		watch, second := db.Watch("wa_"), db.Watch("other")
		run(exec(`INSERT INTO other VALUES (1)`))
		if watch.Count() != 0 || second.Count() == 0 {
			t.Errorf("a change of another table: %d, %d", watch.Count(), second.Count())
		}
		run(exec(`INSERT INTO wa_one VALUES (1)`))
		before := watch.Count()
		if before == 0 {
			t.Error("a change is not counted")
		}
		run(func(tx *sqldb.Tx) error {
			var n int64
			return tx.QueryRow(ctx, `UPDATE wa_one SET n = n + 1 RETURNING n`).Scan(&n)
		})
		if watch.Count() == before {
			t.Error("a change that gives back a row is not counted")
		}
		before = watch.Count()
		failed := errors.New("no")
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO other VALUES (2)`); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) || watch.Count() != before {
			t.Errorf("%v, %d", err, watch.Count())
		}
	})
}
