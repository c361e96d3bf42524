// Package sqlkv keeps short-lived state in the SQL database: for an installation that has no Redis, on SQLite as on
// PostgreSQL. It outlives a restart and is shared by every process on the database.
//
// Its writes are transactions of their own: do not call it inside a transaction of the same database.
package sqlkv

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema the store needs.
func Migrations() sqldb.Migrations {
	dir, err := fs.Sub(files, "migrations")
	if err != nil {
		dir = files // cannot happen: the name is fixed and valid
	}
	return sqldb.Migrations{Component: "kv", Files: dir}
}

// Store is the store on a database. A goroutine of its own removes what has expired.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
	log   *slog.Logger
	stop  context.CancelFunc
	done  chan struct{}
}

// New returns the store on a database that has its Migrations. The caller closes it before the database.
func New(db *sqldb.DB, clk clock.Clock, log *slog.Logger) *Store {
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{db: db, clock: clk, log: log, stop: stop, done: make(chan struct{})}
	go s.sweepLoop(ctx, clk.NewTimer(sweepEvery))
	return s
}

// Driver is sql.
func (s *Store) Driver() string { return "sql" }

// Ping makes a round trip to the database.
func (s *Store) Ping(ctx context.Context) error { return failed(ctx, "ping", s.db.Ping(ctx)) }

// Close stops the sweeping and waits for it. The database stays open.
func (s *Store) Close() error {
	s.stop()
	<-s.done
	return nil
}

// write runs fn in a transaction of its own. The hook of the request is left out: it records that the request's work is
// done, and this is not that work.
func (s *Store) write(ctx context.Context, fn func(*sqldb.Tx) error) error {
	return s.db.Tx(sqldb.WithHook(ctx, nil), fn)
}

// expiry is when a value ends, in milliseconds, never too early.
func (s *Store) expiry(ttl time.Duration) int64 {
	const almost = time.Millisecond - time.Nanosecond
	return sqldb.Millis(s.clock.Now().Add(ttl).Add(almost))
}

func (s *Store) now() int64 { return sqldb.Millis(s.clock.Now()) }

// failed says what was being done. A driver may call a cut-off statement by another name, so the context speaks first.
func failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		err = cause
	}
	return fmt.Errorf("kv: %s: %w", doing, err)
}

var _ kv.Store = (*Store)(nil)
