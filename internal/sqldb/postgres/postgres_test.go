package postgres_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, address string) *sqldb.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestSettingsThatCouldLoseACommitAreRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"off": "off", "local": "local", "remote_write": "remote_write", "on": "", "remote_apply": ""} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			address := sqldbtest.PostgresURL(t)
			alter(t, address, "synchronous_commit = "+setting)
			db, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 2})
			if want == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = db.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), `synchronous_commit is "`+want+`", allowed: on remote_apply`) {
				t.Errorf("error %v, want the setting and what is allowed", err)
			}
		})
	}
}

// alter sets something for every later connection to the database.
func alter(t *testing.T, address, setting string) {
	t.Helper()
	pool, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "ALTER DATABASE "+strings.TrimPrefix(u.Path, "/")+" SET "+setting); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsOfOpenAreOneSentenceWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://someone:hunter2@127.0.0.1:1/nowhere",
		"postgres://someone:hunter2@localhost:1,127.0.0.1:2/nowhere?sslmode=prefer",
		"postgres://someone:hunter2@127.0.0.1:99999/nowhere",
		"postgres://someone:hunter2@%zz/nowhere",
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 2})
		if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %q", address, err)
		}
	}
}

// The server ends our connections, as it does when it is restarted: the transaction fails as unavailable, the next works.
func TestConnectionsThatTheServerEnds(t *testing.T) {
	t.Parallel()
	address := sqldbtest.PostgresURL(t)
	db, killer := open(t, address), open(t, address)
	ctx := t.Context()
	err := db.Tx(ctx, func(tx *sqldb.Tx) error {
		var pid int
		if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		terminate(t, killer, pid)
		_, err := tx.Exec(ctx, `CREATE TABLE t (n BIGINT)`)
		return err
	})
	if sqldb.KindOf(err) != sqldb.KindUnavailable || errs.CodeOf(err) != errs.Unavailable {
		t.Errorf("error %v, want %s", err, errs.Unavailable)
	}
	if err := db.Ping(ctx); err != nil {
		t.Errorf("the pool does not recover: %v", err)
	}
}

func terminate(t *testing.T, db *sqldb.DB, pid int) {
	t.Helper()
	var ended bool
	if err := db.QueryRow(t.Context(), `SELECT pg_terminate_backend($1)`, pid).Scan(&ended); err != nil || !ended {
		t.Fatalf("terminate %d: %v", pid, err)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for left := 1; left > 0; {
		if err := db.QueryRow(deadline, `SELECT COUNT(*) FROM pg_stat_activity WHERE pid = $1`, pid).Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
}

// Two transactions that take two rows in opposite order: the server ends one of them, and it is run again.
func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	db := open(t, sqldbtest.PostgresURL(t))
	ctx := t.Context()
	err := db.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO t VALUES ('a', 0), ('b', 0)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	holding, results := make(chan struct{}, 8), make(chan error, 2)
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		go func() {
			results <- db.Tx(ctx, func(tx *sqldb.Tx) error {
				if _, err := tx.Exec(ctx, `UPDATE t SET n = n + 1 WHERE id = $1`, order[0]); err != nil {
					return err
				}
				holding <- struct{}{}
				if len(holding) == 1 {
					waitFull(ctx, holding)
				}
				_, err := tx.Exec(ctx, `UPDATE t SET n = n + 1 WHERE id = $1`, order[1])
				return err
			})
		}()
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	var sum int
	if err := db.QueryRow(ctx, `SELECT SUM(n) FROM t`).Scan(&sum); err != nil || sum != 4 {
		t.Errorf("sum %d, error %v, want 4: each once", sum, err)
	}
}

// waitFull waits until both hold their first row.
func waitFull(ctx context.Context, holding chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(holding) < 2 && ctx.Err() == nil {
		<-tick.C
	}
}
