package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// A database that may not grow behaves like one on a full disk: who needs room is refused, neighbours in the same commit
// are kept or told the same reason, readers notice nothing, and everything works again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	exec(t, db, `CREATE TABLE t (n)`)
	limitPages(t, db, 16)
	big := strings.Repeat("x", 200_000)
	var running sync.WaitGroup
	var acked sync.Map
	for caller := range 32 {
		text := fmt.Sprint(caller)
		if caller%4 == 0 {
			text = big
		}
		running.Go(func() {
			err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO t VALUES ($1)`, text)
				return err
			})
			if err == nil {
				acked.Store(caller, true)
			} else if sqldb.KindOf(err) != sqldb.KindFull || errs.CodeOf(err) != errs.Unavailable {
				t.Errorf("error %v, want that of a full disk", err)
			}
		})
	}
	running.Wait()
	kept := 0
	acked.Range(func(caller, _ any) bool {
		if kept++; caller.(int)%4 == 0 {
			t.Errorf("caller %v needed room that was not there", caller)
		}
		return true
	})
	if n := count(t, db); n != kept {
		t.Errorf("%d rows, want the %d acknowledged ones", n, kept)
	}
	limitPages(t, db, 1_000_000)
	exec(t, db, `INSERT INTO t VALUES ($1)`, big)
	if n := count(t, db); n != kept+1 {
		t.Errorf("%d rows, want %d", n, kept+1)
	}
}

func limitPages(t *testing.T, db *sqldb.DB, pages int) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		var got int
		err := tx.QueryRow(t.Context(), fmt.Sprint(`PRAGMA max_page_count = `, pages)).Scan(&got)
		if err == nil && got != pages {
			err = errors.New("the limit was not taken")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
