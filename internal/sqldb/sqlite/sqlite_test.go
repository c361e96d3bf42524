package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *sqldb.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, db *sqldb.DB, query string, args ...any) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM t`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSettingsAreWhatDurabilityNeeds(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "query_only": "0"} {
			var got string
			if err := tx.QueryRow(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, error %v, want %s", pragma, got, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A journal mode other than WAL is kept in the file and cannot be changed while somebody else has it open, as on a file
// system without shared memory.
func TestOpenRefusesAnotherJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(DELETE)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	hold, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback() }()
	if _, err := hold.ExecContext(t.Context(), `CREATE TABLE t (n)`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if db, err := sqlite.Open(ctx, path); err == nil {
		_ = db.Close()
		t.Error("a database without WAL was opened")
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	exec(t, db, `CREATE TABLE t (n)`)
	if err := db.QueryRow(t.Context(), `INSERT INTO t VALUES (1) RETURNING n`).Scan(new(int)); err == nil {
		t.Error("a query outside a transaction wrote")
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	db := open(t, filepath.Join(dir, "a.db"))
	exec(t, db, `CREATE TABLE t (n)`)
	files, err := filepath.Glob(filepath.Join(dir, "a.db*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, error %v, want the database, its log and its index", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v", file, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, error %v", dir, info.Mode(), err)
	}
}

func TestPathsThatNeedEscaping(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?b=c", "a#b", "a%41", "ä", "a&b", "file:a"} {
		dir := filepath.Join(t.TempDir(), name)
		db := open(t, filepath.Join(dir, "a.db"))
		exec(t, db, `CREATE TABLE t (n)`)
		exec(t, db, `INSERT INTO t VALUES (1)`)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "a.db")); err != nil || info.Size() == 0 {
			t.Errorf("%s: the database is not where it was asked for: %v", name, err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{garbage, dir, filepath.Join(garbage, "below", "a.db")} {
		if db, err := sqlite.Open(t.Context(), path); err == nil {
			_ = db.Close()
			t.Errorf("%s was opened", path)
		}
	}
}

// Two processes with one database, as serve and backup, or an operator's shell: each waits for the other's commit.
func TestTwoWritersWaitForEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	databases := []*sqldb.DB{open(t, path), open(t, path)}
	exec(t, databases[0], `CREATE TABLE t (n)`)
	const callers, each = 8, 25
	var running sync.WaitGroup
	for caller := range callers {
		db := databases[caller%2]
		running.Go(func() {
			for range each {
				err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
					_, err := tx.Exec(t.Context(), `INSERT INTO t VALUES ($1)`, caller)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if n := count(t, databases[0]); n != callers*each {
		t.Errorf("%d rows, want %d", n, callers*each)
	}
}

// The copy is the state of one moment: of rows that are only ever added in pairs there is an even number.
func TestBackupUnderWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "a.db"))
	exec(t, db, `CREATE TABLE t (n)`)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				err := db.Tx(ctx, func(tx *sqldb.Tx) error {
					_, err := tx.Exec(ctx, `INSERT INTO t VALUES (1)`)
					if err == nil {
						_, err = tx.Exec(ctx, `INSERT INTO t VALUES (2)`)
					}
					return err
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 5 {
		before := count(t, db)
		to := filepath.Join(dir, fmt.Sprint("copy-", i))
		if err := db.Backup(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, error %v: the copy is for its owner alone", info.Mode(), err)
		}
		if n := count(t, open(t, to)); n%2 != 0 || n < before {
			t.Errorf("%d rows in the copy, want an even number, at least %d", n, before)
		}
	}
	cancel()
	running.Wait()
}

func TestBackupOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "a.db"))
	to := filepath.Join(dir, "taken")
	if err := os.WriteFile(to, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), to); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v, want that the file exists", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "mine" {
		t.Errorf("%q, error %v", text, err)
	}
}

// A flipped byte is an error of the queries that meet it, not one that waiting could mend, and no reason to stop.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	exec(t, db, `CREATE TABLE t (n)`)
	exec(t, db, `INSERT INTO t VALUES (1)`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path, 4096) // the first byte of the table's own page, which says what kind of page it is
	db = open(t, path)
	err := db.QueryRow(t.Context(), `SELECT n FROM t`).Scan(new(int))
	if sqldb.KindOf(err) != sqldb.KindOther || errs.CodeOf(err) != errs.Database {
		t.Errorf("error %v, want %s", err, errs.Database)
	}
	exec(t, db, `CREATE TABLE healthy (n)`) // the rest of the file goes on
}

func damage(t *testing.T, path string, offset int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	one := make([]byte, 1)
	if _, err := file.ReadAt(one, offset); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 0xff
	if _, err := file.WriteAt(one, offset); err != nil {
		t.Fatal(err)
	}
}
