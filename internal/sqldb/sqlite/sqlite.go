// Package sqlite is the embedded SQL engine: one file, no server.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"atelier/internal/sqldb"
)

// Open opens, or creates, the database file. One connection writes, with immediate transactions whose commits are
// shared; a pool of connections reads the last committed state without waiting for it.
func Open(ctx context.Context, path string) (*sqldb.DB, error) {
	engine := &sqlite.Driver{} // one of our own: the package's is shared by the process
	if err := addFunctions(engine); err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	write := sql.OpenDB(connector{engine, dsn(path, "synchronous(FULL)", "wal_autocheckpoint(4000)") + "&_txlock=immediate"})
	write.SetMaxOpenConns(1)
	write.SetMaxIdleConns(1)
	write.SetConnMaxIdleTime(0)
	read := sql.OpenDB(connector{engine, dsn(path, "query_only(1)")})
	const readers = 8
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	db, err := sqldb.New(ctx, sqldb.Engine{
		Name:    "sqlite",
		Read:    read,
		Write:   write,
		Grouped: true,
		Kind:    kind,
		Durable: durable,
		Backup:  func(ctx context.Context, to string) error { return backup(ctx, path, to) },
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", filepath.Base(path), err), read.Close(), write.Close())
	}
	return db, nil
}

// connector opens connections that have our functions and keep their statements.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return keeping(opened)
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }

// addFunctions adds what the engine lacks: re2(pattern, text) tells whether a text matches a regular expression, as package
// regexp understands it. Anything but two texts does not match.
func addFunctions(d *sqlite.Driver) error {
	var mu sync.Mutex
	compiled := map[string]*regexp.Regexp{}
	const remembered = 512
	return d.RegisterDeterministicScalarFunction("re2", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		pattern, isPattern := args[0].(string)
		text, isText := args[1].(string)
		if !isPattern || !isText {
			return int64(0), nil
		}
		mu.Lock()
		re, ok := compiled[pattern]
		mu.Unlock()
		if !ok {
			var err error
			if re, err = regexp.Compile(pattern); err != nil {
				return nil, errors.New("re2: not a regular expression")
			}
			mu.Lock()
			if len(compiled) >= remembered {
				clear(compiled)
			}
			compiled[pattern] = re
			mu.Unlock()
		}
		if re.MatchString(text) {
			return int64(1), nil
		}
		return int64(0), nil
	})
}

// create makes the file for its owner alone; the engine gives its log and index the same permissions. It holds the signing
// keys, and the directory may be one that others can look into.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return file.Close()
}

// backup copies the database as it is at one moment, on a connection of its own: the readers' ones may not write, not even
// to another file. The copy is made for its owner alone, and it is the caller who removes it when the backup fails.
func backup(ctx context.Context, path, to string) (err error) {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// dsn names the file; the busy timeout comes first so that the other pragmas wait for a starting neighbour too.
func dsn(path string, pragmas ...string) string {
	values := url.Values{"_pragma": append([]string{"busy_timeout(5000)", "journal_mode(WAL)", "foreign_keys(1)"}, pragmas...)}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + values.Encode()
}

// durable refuses to run when a commit would be acknowledged before it is on disk.
func durable(ctx context.Context, db *sql.DB) error {
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	const full = 2
	if journal != "wal" || synchronous < full {
		return fmt.Errorf("the database is not durable (journal_mode=%s, synchronous=%d; wal and FULL are needed): is the data directory on a network file system?", journal, synchronous)
	}
	return nil
}

func kind(err error) sqldb.Kind {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return sqldb.KindOther
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		return sqldb.KindUnique
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return sqldb.KindForeignKey
	case lib.SQLITE_CONSTRAINT_CHECK, lib.SQLITE_CONSTRAINT_NOTNULL:
		return sqldb.KindCheck
	}
	const primary = 0xff
	switch e.Code() & primary {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return sqldb.KindRetry
	case lib.SQLITE_FULL:
		return sqldb.KindFull
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
		return sqldb.KindUnavailable // no more file handles, or a file system that was mounted read-only
	case lib.SQLITE_IOERR:
		return sqldb.KindIO
	default:
		return sqldb.KindOther
	}
}
