package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
)

// Tx is a running transaction.
type Tx struct {
	tx *sql.Tx
	db *DB
	// shared is set when other callers' work is in the same commit: a cancelled statement would undo theirs too, so
	// cancellation is only looked at between statements.
	shared bool
	// named are the watches whose tables a statement has named.
	named []*Watch
}

// Exec runs a statement and tells how many rows it changed.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.yield()
	t.note(query)
	res, err := t.tx.ExecContext(t.context(ctx), query, args...)
	if err != nil {
		return 0, t.db.translate(err)
	}
	n, err := res.RowsAffected()
	return n, t.db.translate(err)
}

// Query runs a query inside the transaction. The caller closes the rows; prefer All.
func (t *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.yield()
	t.note(query)
	rows, err := t.tx.QueryContext(t.context(ctx), query, args...)
	return rows, t.db.translate(err)
}

// QueryRow runs a query that gives at most one row inside the transaction.
func (t *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
	t.yield()
	t.note(query)
	return &Row{row: t.tx.QueryRowContext(t.context(ctx), query, args...), db: t.db}
}

// yield lets others work before a statement. A database inside this process would keep a processor for as long as there are
// transactions, and whoever waits for that very one with it.
func (t *Tx) yield() {
	if t.db.group != nil {
		runtime.Gosched()
	}
}

func (t *Tx) context(ctx context.Context) context.Context {
	if t.shared {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (t *Tx) translate(err error) error { return t.db.translate(err) }

// Tx runs fn in a transaction and returns when it is durable. fn does database work only, keeps no reference to tx, and
// may run more than once when the engine asks for a retry. When fn fails or panics nothing of it is kept. A transaction
// inside fn would wait for the one around it forever.
func (db *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	db.running.RLock()
	defer db.running.RUnlock()
	if db.closed {
		return errClosed
	}
	if hook := hookFrom(ctx); hook != nil {
		work := fn
		fn = func(tx *Tx) error {
			if err := work(tx); err != nil {
				return err
			}
			return hook(ctx, tx)
		}
	}
	if db.group != nil {
		return db.group.run(ctx, fn)
	}
	const attempts = 4
	var err error
	for range attempts {
		if err = db.once(ctx, fn); KindOf(err) != KindRetry {
			return err
		}
	}
	return err
}

func (db *DB) once(ctx context.Context, fn func(*Tx) error) error {
	tx, err := db.engine.Write.BeginTx(ctx, nil)
	if err != nil {
		return db.translate(err)
	}
	defer func() { _ = tx.Rollback() }() // a no-op after Commit; undoes the work when fn fails or panics
	work := &Tx{tx: tx, db: db}
	if err := fn(work); err != nil {
		return err
	}
	work.count()
	defer work.count()
	return db.translate(tx.Commit())
}

type hookKey struct{}

// WithHook makes every transaction started with the context run hook before it commits, in the same commit. The
// idempotency record of a request is written this way: it exists exactly when the request's work does.
func WithHook(ctx context.Context, hook func(context.Context, *Tx) error) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// Hooked tells that transactions started with the context run a hook, so that the work must be done in one of them.
func Hooked(ctx context.Context) bool { return hookFrom(ctx) != nil }

func hookFrom(ctx context.Context) func(context.Context, *Tx) error {
	hook, _ := ctx.Value(hookKey{}).(func(context.Context, *Tx) error)
	return hook
}

// IsNotFound tells that a query gave no row.
func IsNotFound(err error) bool { return errors.Is(err, sql.ErrNoRows) }

var (
	_ Reader = (*DB)(nil)
	_ Reader = (*Tx)(nil)
)

// EscapeLike takes the meaning from the wildcards of a text that is searched for with LIKE ... ESCAPE '!'.
func EscapeLike(text string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text)
}
