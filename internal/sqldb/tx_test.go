package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestTxKeepsAllOrNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := add(ctx, db, "kept"); err != nil {
			t.Fatal(err)
		}
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			if err := insert(ctx, tx, "lost"); err != nil {
				return err
			}
			wantThings(t, tx, "kept", "lost") // it reads its own work
			wantThings(t, db, "kept")         // which nobody else sees
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			t.Errorf("error %v, want the function's own", err)
		}
		wantThings(t, db, "kept")
	}, things())
}

func TestTxTellsHowManyRowsChanged(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			n, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ('a', 1), ('b', 2)`)
			if n != 2 {
				t.Errorf("%d rows, want 2", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}, things())
}

func TestTxPanicUndoesAndReachesTheCaller(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		caught := recovered(func() {
			_ = db.Tx(ctx, func(tx *sqldb.Tx) error {
				if err := insert(ctx, tx, "lost"); err != nil {
					return err
				}
				rows, err := tx.Query(ctx, `SELECT id FROM things`) //nolint:sqlclosecheck // left open, as a panicking function does
				if err != nil || !rows.Next() || rows.Err() != nil {
					t.Error("cannot read inside the transaction", err)
				}
				panic("boom") //nolint:forbidigo // the test is about panics
			})
		})
		if !strings.Contains(fmt.Sprint(caught), "boom") {
			t.Errorf("recovered %v, want the panic", caught)
		}
		if err := add(ctx, db, "next"); err != nil {
			t.Fatalf("the database does not work after a panic: %v", err)
		}
		wantThings(t, db, "next")
	}, things())
}

func recovered(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

func TestTxWithEndedContextDoesNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := db.Tx(ctx, func(*sqldb.Tx) error {
			t.Error("the function was called")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	}, things())
}

// A caller that goes away may be told so or not; what it was told is true.
func TestTxCancelledAtAnyMomentIsTruthful(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		const callers, each = 16, 20
		var acked sync.Map
		var running sync.WaitGroup
		for caller := range callers {
			running.Go(func() {
				for n := range each {
					id := fmt.Sprint(caller, "-", n)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(4000))*time.Microsecond)
					err := add(ctx, db, id)
					cancel()
					acked.Store(id, err)
				}
			})
		}
		running.Wait()
		stored, err := ids(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		exists := map[string]bool{}
		for _, id := range stored {
			exists[id] = true
		}
		acked.Range(func(id, err any) bool {
			switch {
			case err == nil && !exists[id.(string)]:
				t.Errorf("%s was acknowledged and is missing", id)
			case err != nil && exists[id.(string)] && db.Driver() == "sqlite": // a server may have committed when the line went dead
				t.Errorf("%s was refused with %v and is stored", id, err)
			}
			return true
		})
	}, things())
}

func TestHookIsInTheSameCommit(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		calls := 0
		ctx := sqldb.WithHook(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			calls++
			return insert(ctx, tx, fmt.Sprint("hook-", calls))
		})
		if err := add(ctx, db, "work"); err != nil {
			t.Fatal(err)
		}
		wantThings(t, db, "hook-1", "work")

		err := db.Tx(ctx, func(*sqldb.Tx) error { return errRefused })
		if !errors.Is(err, errRefused) || calls != 1 {
			t.Errorf("error %v after %d calls: the hook of failed work must not run", err, calls)
		}
		failing := sqldb.WithHook(t.Context(), func(context.Context, *sqldb.Tx) error { return errRefused })
		if err := add(failing, db, "undone"); !errors.Is(err, errRefused) {
			t.Errorf("error %v, want the hook's", err)
		}
		if err := add(sqldb.WithHook(ctx, nil), db, "without"); err != nil {
			t.Errorf("a hook taken away: %v", err)
		}
		wantThings(t, db, "hook-1", "work", "without")
	}, things())
}

func TestCloseWaitsForRunningTransactions(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		started, finish, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			err := db.Tx(ctx, func(tx *sqldb.Tx) error {
				close(started)
				<-finish
				for range 50 { // while Close is under way
					if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM things`).Scan(new(int)); err != nil {
						return err
					}
				}
				if isClosed(closed) {
					t.Error("Close returned before the transaction")
				}
				return insert(ctx, tx, "drained")
			})
			if err != nil {
				t.Errorf("a transaction that had begun before Close: %v", err)
			}
		})
		<-started
		running.Go(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			close(closed)
		})
		close(finish)
		running.Wait()
		if err := add(ctx, db, "late"); err == nil {
			t.Error("a closed database took a transaction")
		}
		if err := db.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}, things())
}
