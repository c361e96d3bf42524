package restapi_test

import (
	"testing"
	"time"

	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// Of the requests that are known by their key only those that were running when the process ended are given up.
func TestAbandon(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, now := t.Context(), time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC)
		claim := func(id string, started time.Time, status int) {
			err := db.Tx(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO http_idempotency (id, fingerprint, committed, started_at, expires_at, status, headers, body)
					VALUES ($1, '', 0, $2, $3, $4, '', '')`, id, sqldb.Millis(started), sqldb.Millis(started.Add(24*time.Hour)), status)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		claim("running", now.Add(-time.Minute), 0)
		claim("answered", now.Add(-time.Minute), 201)
		claim("long dead", now.Add(-time.Hour), 0)
		if err := restapi.Abandon(ctx, db, now); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int64{
			"running": 0, "answered": sqldb.Millis(now.Add(-time.Minute)), "long dead": sqldb.Millis(now.Add(-time.Hour)),
		} {
			var started int64
			if err := db.QueryRow(ctx, `SELECT started_at FROM http_idempotency WHERE id = $1`, id).Scan(&started); err != nil || started != want {
				t.Errorf("%s: started at %d, error %v, want %d", id, started, err, want)
			}
		}
	}, restapi.Migrations())
}
