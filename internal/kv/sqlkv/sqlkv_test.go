package sqlkv_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/kv/kvtest"
	"atelier/internal/kv/sqlkv"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClock() *clock.Manual { return clock.NewManual(time.UnixMicro(1_800_000_000_000_123)) }

func open(tb testing.TB, db *sqldb.DB, clk clock.Clock) *sqlkv.Store {
	tb.Helper()
	store := sqlkv.New(db, clk, slog.New(slog.DiscardHandler))
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return store
}

func TestContract(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		clk := newClock()
		kvtest.Run(t, func(t *testing.T) kv.Store {
			t.Helper()
			empty(t, db)
			return sqlkv.New(db, clk, slog.New(slog.DiscardHandler))
		}, clk.Advance)
	}, sqlkv.Migrations())
}

func empty(t *testing.T, db *sqldb.DB) {
	t.Helper()
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), `DELETE FROM kv_values`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `DELETE FROM kv_limits`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAgreesWithModel(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		clk := newClock()
		kvtest.Agree(t, clk, open(t, db, clk).Take)
	}, sqlkv.Migrations())
}

func TestDriver(t *testing.T) {
	t.Parallel()
	if got := open(t, sqldbtest.SQLite(t, sqlkv.Migrations()), newClock()).Driver(); got != "sql" {
		t.Errorf("driver %q", got)
	}
}

func TestSweepsWhatHasExpired(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		clk := newClock()
		store := open(t, db, clk)
		fill(t, db, clk.Now(), 1234)
		if err := store.Set(t.Context(), "stays", []byte("value"), time.Hour); err != nil {
			t.Fatal(err)
		}
		limit := kv.Limit{Count: 1, Period: time.Hour}
		if _, err := store.Take(t.Context(), "stays", limit); err != nil {
			t.Fatal(err)
		}
		clk.Advance(20 * time.Minute)
		kvtest.Eventually(t, "only what lives is left", func() bool {
			return count(t, db, "kv_values") == 1 && count(t, db, "kv_limits") == 1
		})
		if decision, err := store.Take(t.Context(), "stays", limit); err != nil || decision.Allowed {
			t.Errorf("the limit that lives was forgotten: %+v, %v", decision, err)
		}
	}, sqlkv.Migrations())
}

// fill writes rows that end soon, more than one batch of them, without a commit for each.
func fill(t *testing.T, db *sqldb.DB, now time.Time, rows int) {
	t.Helper()
	soon := now.Add(time.Second)
	err := db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		for i := range rows {
			key := fmt.Append(nil, "ends ", i)
			if _, err := tx.Exec(t.Context(), `INSERT INTO kv_values (key, value, expires_at) VALUES ($1, $2, $3)`,
				key, []byte("value"), sqldb.Millis(soon)); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), `INSERT INTO kv_limits (key, free_at, sweep_at) VALUES ($1, $2, $3)`,
				key, soon.UnixMicro(), sqldb.Millis(soon)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, db *sqldb.DB, table string) (rows int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// The record that a request's work is done must not be committed by a rate limit or a session on the way to it.
func TestLeavesTheHookOfTheRequestAlone(t *testing.T) {
	t.Parallel()
	store := open(t, sqldbtest.SQLite(t, sqlkv.Migrations()), newClock())
	ctx := sqldb.WithHook(t.Context(), func(context.Context, *sqldb.Tx) error { return errors.New("the hook ran") })
	if err := store.Set(ctx, "key", nil, time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := store.Take(ctx, "key", kv.Limit{Count: 1, Period: time.Hour}); err != nil {
		t.Error(err)
	}
	if err := store.Delete(ctx, "key"); err != nil {
		t.Error(err)
	}
}

func BenchmarkTake(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkTake(b, sqldbtest.SQLite(b, sqlkv.Migrations())) })
	b.Run("postgresql", func(b *testing.B) { benchmarkTake(b, sqldbtest.Postgres(b, sqlkv.Migrations())) })
}

func benchmarkTake(b *testing.B, db *sqldb.DB) {
	b.Helper()
	store := open(b, db, clock.System{})
	generous := kv.Limit{Count: 1_000_000, Period: time.Second}
	spent := kv.Limit{Count: 1, Period: time.Hour}
	take := func(b *testing.B, key string, limit kv.Limit) {
		b.Helper()
		if _, err := store.Take(b.Context(), key, limit); err != nil {
			b.Error(err)
		}
	}
	b.Run("allowed", func(b *testing.B) {
		for b.Loop() {
			take(b, "allowed", generous)
		}
	})
	b.Run("refused", func(b *testing.B) {
		for b.Loop() {
			take(b, "refused", spent)
		}
	})
	b.Run("allowed, 64 callers, one key", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				take(b, "one key", generous)
			}
		})
	})
	b.Run("allowed, 64 callers, 1000 keys", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				take(b, fmt.Sprint("key ", i%1000), generous)
			}
		})
	})
}
