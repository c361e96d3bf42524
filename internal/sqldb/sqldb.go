// Package sqldb is the contract for the SQL engine: SQLite inside the process, PostgreSQL beside it, one SQL text for
// both. It gives transactions that are durable when they return, errors by kind, and forward migrations.
//
// Write portable SQL, PostgreSQL style: $1, ON CONFLICT ... DO UPDATE, RETURNING, BIGINT milliseconds for time, opaque
// TEXT for JSON. A conditional UPDATE ... RETURNING takes a lock.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Reader runs queries: outside a transaction on the read pool, or inside one.
type Reader interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *Row
	translate(err error) error
}

// Engine is what a driver supplies.
type Engine struct {
	// Name is the driver as operators know it: sqlite or postgresql.
	Name string
	// Read serves queries outside transactions; Write serves transactions. They may be one pool.
	Read, Write *sql.DB
	// Grouped makes concurrent transactions share one commit; for engines with a single writer.
	Grouped bool
	// Kind sorts a driver error by its code.
	Kind func(error) Kind
	// Durable reads the durability settings back and fails when they are weaker than promised.
	Durable func(ctx context.Context, db *sql.DB) error
	// LockMigrations holds other processes off while a migration runs in tx; may be nil.
	LockMigrations func(ctx context.Context, tx *Tx) error
	// Backup writes a consistent copy of the whole database to a file; nil when the engine has its own tools.
	Backup func(ctx context.Context, path string) error
	// OnClose releases what the driver holds besides the pools; may be nil.
	OnClose func() error
}

// DB is an open database.
type DB struct {
	engine Engine
	group  *groupWriter

	watches  atomic.Pointer[[]*Watch]
	watching sync.Mutex // held by who adds a watch

	running sync.RWMutex // held for reading by every transaction, so that Close can wait for them
	closed  bool
}

// New checks the engine's durability settings and returns the database. The caller closes it.
func New(ctx context.Context, engine Engine) (*DB, error) {
	if err := engine.Write.PingContext(ctx); err != nil {
		return nil, err
	}
	if err := engine.Durable(ctx, engine.Write); err != nil {
		return nil, err
	}
	db := &DB{engine: engine}
	if engine.Grouped {
		db.group = newGroupWriter(db)
	}
	return db, nil
}

// Driver is the engine's name.
func (db *DB) Driver() string { return db.engine.Name }

// Ping makes a real round trip to the engine.
func (db *DB) Ping(ctx context.Context) error {
	var one int
	return db.QueryRow(ctx, `SELECT 1`).Scan(&one)
}

// Failed is closed when the engine can no longer promise durability, for instance after a failed sync. The process must
// stop: what is in memory may not be what is on disk. It is nil, and so never ready, on engines that recover by themselves.
func (db *DB) Failed() <-chan struct{} {
	if db.group == nil {
		return nil
	}
	return db.group.failed
}

// Backup writes a consistent copy of the database to a new file while it is in use.
func (db *DB) Backup(ctx context.Context, path string) error {
	if db.engine.Backup == nil {
		return errors.New("this database has its own backup tools; use them")
	}
	return db.engine.Backup(ctx, path)
}

// Close waits for the transactions that have begun or are queued, and closes the pools. Later ones are refused.
func (db *DB) Close() error {
	if !db.finish() {
		return nil
	}
	if db.group != nil {
		db.group.close()
	}
	err := db.engine.Read.Close()
	if db.engine.Write != db.engine.Read {
		err = errors.Join(err, db.engine.Write.Close())
	}
	if db.engine.OnClose != nil {
		err = errors.Join(err, db.engine.OnClose())
	}
	return err
}

// finish waits for the transactions and lets no more begin; false when that was done before.
func (db *DB) finish() bool {
	db.running.Lock()
	defer db.running.Unlock()
	first := !db.closed
	db.closed = true
	return first
}

// Query runs a query on the read pool. The caller closes the rows; prefer All.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := db.engine.Read.QueryContext(ctx, query, args...)
	return rows, db.translate(err)
}

// QueryRow runs a query that gives at most one row on the read pool.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) *Row {
	return &Row{row: db.engine.Read.QueryRowContext(ctx, query, args...), db: db}
}

// Row is one result row.
type Row struct {
	row *sql.Row
	db  *DB
}

// Scan reads the row; sql.ErrNoRows when there is none.
func (r *Row) Scan(dest ...any) error { return r.db.translate(r.row.Scan(dest...)) }

// All runs a query and scans every row.
func All[T any](ctx context.Context, r Reader, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := r.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	if err := rows.Err(); err != nil {
		return nil, r.translate(err)
	}
	return out, nil
}

// In gives the placeholders of a list that starts at parameter first: "$3, $4, $5".
func In(first, count int) string {
	var b strings.Builder
	for i := range count {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
	}
	return b.String()
}

// Millis is how a time is stored.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// Time reads a stored time.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Migrations are the forward-only schema steps of one component, files named NNNN_name.sql, or NNNN_name.sqlite.sql and
// NNNN_name.postgresql.sql where the engines must differ.
type Migrations struct {
	Component string
	Files     fs.FS
}
