package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver of the handcrafted engines

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// handcrafted opens an engine whose settings and error kinds the test chooses.
func handcrafted(t *testing.T, change func(*sqldb.Engine)) (*sqldb.DB, error) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	engine := sqldb.Engine{
		Name: "handcrafted", Read: pool, Write: pool, Grouped: true,
		Kind:    func(error) sqldb.Kind { return sqldb.KindOther },
		Durable: func(context.Context, *sql.DB) error { return nil },
	}
	change(&engine)
	return sqldb.New(t.Context(), engine)
}

func TestEngineThatIsNotDurableIsRefused(t *testing.T) {
	t.Parallel()
	db, err := handcrafted(t, func(e *sqldb.Engine) {
		e.Durable = func(context.Context, *sql.DB) error { return errRefused }
	})
	if !errors.Is(err, errRefused) || db != nil {
		t.Errorf("opened with error %v, want what the engine says about its durability", err)
	}
}

// brokenDisk is an engine whose disk fails at the commit of a row named "bad": a key that is only looked at then stands
// for a sync that fails.
func brokenDisk(t *testing.T, kind sqldb.Kind) *sqldb.DB {
	t.Helper()
	db, err := handcrafted(t, func(e *sqldb.Engine) {
		e.Kind = func(err error) sqldb.Kind {
			if strings.Contains(err.Error(), "FOREIGN KEY") {
				return kind
			}
			return sqldb.KindOther
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ctx := t.Context()
	err = db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE things (
			id TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, parent TEXT REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func failCommit(ctx context.Context, db *sqldb.DB) error {
	return db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO things (id, n, parent) VALUES ('bad', 1, 'nobody')`)
		return err
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestFailedSyncStopsAllWriting(t *testing.T) {
	t.Parallel()
	db := brokenDisk(t, sqldb.KindIO)
	ctx := t.Context()
	if err := add(ctx, db, "before"); err != nil || isClosed(db.Failed()) {
		t.Fatalf("a healthy database: %v", err)
	}
	err := failCommit(ctx, db)
	if errs.CodeOf(err) != errs.Unavailable || !isClosed(db.Failed()) {
		t.Errorf("error %v, want %s and Failed to be closed", err, errs.Unavailable)
	}
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if err := add(ctx, db, "after"); errs.CodeOf(err) != errs.Unavailable {
				t.Errorf("error %v, want %s: nothing may be acknowledged any more", err, errs.Unavailable)
			}
		})
	}
	running.Wait()
	wantThings(t, db, "before") // it can still be read
}

func TestCommitThatFailsForAnotherReasonIsSurvived(t *testing.T) {
	t.Parallel()
	db := brokenDisk(t, sqldb.KindFull)
	ctx := t.Context()
	if err := failCommit(ctx, db); errs.CodeOf(err) != errs.Unavailable || isClosed(db.Failed()) {
		t.Errorf("error %v, want %s and no failure for good", err, errs.Unavailable)
	}
	if err := add(ctx, db, "after"); err != nil {
		t.Errorf("after the cause is gone: %v", err)
	}
	wantThings(t, db, "after")
}

func TestEngineWithItsOwnBackup(t *testing.T) {
	t.Parallel()
	db, err := handcrafted(t, func(e *sqldb.Engine) { e.Grouped = false })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Backup(t.Context(), "file"); err == nil {
		t.Error("no error")
	}
	if db.Failed() != nil {
		t.Error("an engine that recovers by itself never fails for good")
	}
}
