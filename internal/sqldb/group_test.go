package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

// grouped runs a test in a bubble, where synctest.Wait tells that every caller has done what it can.
func grouped(t *testing.T, run func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := sqldb.Migrate(t.Context(), db, time.UnixMilli(0), things()); err != nil {
			t.Fatal(err)
		}
		run(t, db)
	})
}

// blocked makes the writer wait inside a transaction until release is called, so that later callers queue up.
func blocked(t *testing.T, db *sqldb.DB, running *sync.WaitGroup) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	running.Go(func() {
		if err := db.Tx(t.Context(), func(*sqldb.Tx) error { <-gate; return nil }); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return func() { close(gate) }
}

func TestWaitingCallersShareOneCommit(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		const callers = 64
		var running sync.WaitGroup
		var mu sync.Mutex
		transactions := map[*sqldb.Tx]int{}
		var want []string
		release := blocked(t, db, &running)
		for caller := range callers {
			id := fmt.Sprint("caller-", caller)
			want = append(want, id)
			running.Go(func() {
				err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
					mu.Lock()
					transactions[tx]++
					mu.Unlock()
					return insert(t.Context(), tx, id)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		release()
		running.Wait()
		if len(transactions) != 1 {
			t.Errorf("%d callers made %d commits, want 1", callers, len(transactions))
		}
		wantThings(t, db, want...)
	})
}

func TestFailingJobUndoesOnlyItself(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		const callers = 64
		var running sync.WaitGroup
		var want []string
		release := blocked(t, db, &running)
		for caller := range callers {
			id := fmt.Sprint("caller-", caller)
			switch caller % 4 {
			case 0: // fails after its work
				running.Go(func() { refuse(t, db, id) })
			case 1: // fails in its work
				running.Go(func() { wantKind(t, sqldb.KindUnique, addTwice(t.Context(), db, id)) })
			case 2: // panics
				running.Go(func() {
					if recovered(func() { panicking(t, db, id) }) == nil {
						t.Error("the panic did not reach its caller")
					}
				})
			default:
				want = append(want, id)
				running.Go(func() {
					if err := add(t.Context(), db, id); err != nil {
						t.Errorf("a good job: %v", err)
					}
				})
			}
		}
		synctest.Wait()
		release()
		running.Wait()
		wantThings(t, db, want...)
	})
}

func refuse(t *testing.T, db *sqldb.DB, id string) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error { return errors.Join(insert(t.Context(), tx, id), errRefused) })
	if !errors.Is(err, errRefused) {
		t.Errorf("error %v, want the job's own", err)
	}
}

func addTwice(ctx context.Context, db *sqldb.DB, id string) error {
	return db.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := insert(ctx, tx, id); err != nil {
			return err
		}
		return insert(ctx, tx, id)
	})
}

func panicking(t *testing.T, db *sqldb.DB, id string) {
	t.Helper()
	_ = db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		if err := insert(t.Context(), tx, id); err != nil {
			t.Error(err)
		}
		panic("boom") //nolint:forbidigo // the test is about panics
	})
}

func TestCallerThatLeavesTheQueueDidNothing(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		var running sync.WaitGroup
		release := blocked(t, db, &running)
		ctx, cancel := context.WithCancel(t.Context())
		running.Go(func() {
			if err := add(ctx, db, "gone"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
		running.Go(func() {
			if err := add(t.Context(), db, "stayed"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait() // it is gone while the writer is still busy
		release()
		running.Wait()
		wantThings(t, db, "stayed")
	})
}

// A statement cut off in the middle would make the engine undo the whole commit.
func TestCancelledCallerDoesNotCancelItsNeighbours(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		var running sync.WaitGroup
		release := blocked(t, db, &running)
		ctx, cancel := context.WithCancel(t.Context())
		running.Go(func() {
			if err := add(t.Context(), db, "before"); err != nil {
				t.Errorf("the neighbour before: %v", err)
			}
		})
		synctest.Wait()
		running.Go(func() {
			err := db.Tx(ctx, func(tx *sqldb.Tx) error {
				cancel()
				return insert(ctx, tx, "itself")
			})
			if err != nil {
				t.Errorf("a job that had started: %v, want the result of its commit", err)
			}
		})
		synctest.Wait()
		running.Go(func() {
			if err := add(t.Context(), db, "after"); err != nil {
				t.Errorf("the neighbour after: %v", err)
			}
		})
		synctest.Wait()
		release()
		running.Wait()
		wantThings(t, db, "before", "itself", "after")
	})
}

func TestMoreCallersThanOneCommitCarries(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		const callers = 1000
		var running sync.WaitGroup
		var want []string
		release := blocked(t, db, &running)
		for caller := range callers {
			id := fmt.Sprint("caller-", caller)
			want = append(want, id)
			running.Go(func() {
				if err := add(t.Context(), db, id); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		release()
		running.Wait()
		wantThings(t, db, want...)
	})
}

func TestCloseDrainsTheQueue(t *testing.T) {
	grouped(t, func(t *testing.T, db *sqldb.DB) {
		var running sync.WaitGroup
		var acked sync.Map
		release := blocked(t, db, &running)
		for caller := range 64 {
			running.Go(func() { acked.Store(caller, add(t.Context(), db, fmt.Sprint(caller))) })
		}
		synctest.Wait() // all of them wait in line
		running.Go(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		release()
		running.Wait()
		acked.Range(func(caller, err any) bool {
			if err != nil {
				t.Errorf("caller %v was in line before Close: %v", caller, err)
			}
			return true
		})
	})
}
