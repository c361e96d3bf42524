// Package postgres is the SQL engine of a cluster: PostgreSQL 14 or newer.
package postgres

import (
	"context"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"atelier/internal/sqldb"
)

// Config is how to reach the server.
type Config struct {
	// URL is a postgres:// address or a key=value connection string.
	URL string
	// MaxConns bounds the pool of this process.
	MaxConns int
	// Roots are the authorities to trust when the URL names none (sslrootcert); nil means those of the system.
	Roots *x509.CertPool
}

// Open connects and verifies that commits are durable.
func Open(ctx context.Context, cfg Config) (*sqldb.DB, error) {
	conn, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("the database address is not a valid postgres:// URL") // the cause would show the password
	}
	trust(conn, cfg.Roots)
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = 5 * time.Second
	}
	if conn.RuntimeParams["idle_in_transaction_session_timeout"] == "" {
		// A process frozen inside a transaction must not hold its rows for ever.
		conn.RuntimeParams["idle_in_transaction_session_timeout"] = "30000"
	}
	pool := stdlib.OpenDB(*conn)
	pool.SetMaxOpenConns(cfg.MaxConns)
	pool.SetMaxIdleConns(cfg.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db, err := sqldb.New(ctx, sqldb.Engine{
		Name:           "postgresql",
		Read:           pool,
		Write:          pool,
		Kind:           kind,
		Durable:        durable,
		LockMigrations: lockMigrations,
	})
	if err != nil {
		_ = pool.Close() // what matters is why it was not opened
		return nil, fmt.Errorf("open the PostgreSQL database %q at %s: %w", conn.Database, conn.Host, &sentenceError{err})
	}
	return db, nil
}

// sentenceError shows an error of the driver as one sentence: it has a line for each address and way it tried, often the same.
type sentenceError struct{ error }

func (e *sentenceError) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

func (e *sentenceError) Unwrap() error { return e.error }

// trust adds the authorities to every address the URL names.
func trust(conn *pgx.ConnConfig, roots *x509.CertPool) {
	if roots == nil {
		return
	}
	if conn.TLSConfig != nil && conn.TLSConfig.RootCAs == nil {
		conn.TLSConfig.RootCAs = roots
	}
	for _, fallback := range conn.Fallbacks {
		if fallback.TLSConfig != nil && fallback.TLSConfig.RootCAs == nil {
			fallback.TLSConfig.RootCAs = roots
		}
	}
}

// durable refuses a server that would acknowledge a commit before it is on disk.
func durable(ctx context.Context, db *sql.DB) error {
	for _, setting := range []struct{ name, allowed string }{
		{"fsync", "on"},
		{"full_page_writes", "on"},
		{"synchronous_commit", "on remote_apply"},
	} {
		var value string
		if err := db.QueryRowContext(ctx, "SELECT current_setting($1)", setting.name).Scan(&value); err != nil {
			return err
		}
		if !strings.Contains(" "+setting.allowed+" ", " "+value+" ") {
			return fmt.Errorf("the server is not durable: %s is %q, allowed: %s", setting.name, value, setting.allowed)
		}
	}
	return nil
}

// lockMigrations is released with the transaction. The number is any constant that nothing else uses.
func lockMigrations(ctx context.Context, tx *sqldb.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(7305148273941)`)
	return err
}

func kind(err error) sqldb.Kind {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if pgconn.Timeout(err) || isConnect(err) {
			return sqldb.KindUnavailable
		}
		return sqldb.KindOther
	}
	switch e.Code {
	case "23505":
		return sqldb.KindUnique
	case "23503":
		return sqldb.KindForeignKey
	case "23514", "23502":
		return sqldb.KindCheck
	case "40001", "40P01", "55P03":
		return sqldb.KindRetry
	case "53100":
		return sqldb.KindFull
	case "57P01", "57P02", "57P03", "57P05", "53200", "53300", "25006": // going down or up, out of memory or connections, a standby
		return sqldb.KindUnavailable
	case "58030":
		return sqldb.KindIO
	}
	const connectionClass = "08"
	if strings.HasPrefix(e.Code, connectionClass) {
		return sqldb.KindUnavailable
	}
	return sqldb.KindOther
}

func isConnect(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}
