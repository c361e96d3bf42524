// Package sqlbus is the event log as a table of the application's own database. Nothing else needs to run.
package sqlbus

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/internal/consumer"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the tables of the log, of its cursors and of its leases.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "bus", Files: steps}
}

// Log is the event log. It implements bus.Log and adds the reads that the log's own services need.
type Log struct {
	db        *sqldb.DB
	clock     clock.Clock
	inserts   inserter
	appenders []*appender
	heads     *headWatch
	recent    recent
	runner    consumer.Runner
	consumers *consumer.Group
}

// Option changes how a log works.
type Option func(*options)

type options struct {
	lease time.Duration
}

// WithLease sets how long a consumer keeps its partitions without renewing them: the time until another instance takes
// over from one that was killed.
func WithLease(d time.Duration) Option { return func(o *options) { o.lease = d } }

// Open starts the log on a migrated database. The caller closes it before the database.
func Open(db *sqldb.DB, clk clock.Clock, log *slog.Logger, opts ...Option) (*Log, error) {
	o := options{lease: 10 * time.Second}
	for _, set := range opts {
		set(&o)
	}
	if o.lease <= 0 {
		return nil, errors.New("open the event log: the lease must be positive")
	}
	l := &Log{
		db:        db,
		clock:     clk,
		inserts:   newInserter(db.Driver()),
		heads:     newHeadWatch(db, clk, log),
		runner:    consumer.Runner{DB: db, Clock: clk, Log: log, Lease: o.lease},
		consumers: consumer.NewGroup(),
	}
	for range appenderCount(db.Driver()) {
		l.appenders = append(l.appenders, newAppender(l))
	}
	return l, nil
}

// Driver is the log as operators know it.
func (l *Log) Driver() string { return "sql" }

// Ping writes a row back as it is and reads it.
func (l *Log) Ping(ctx context.Context) error {
	err := l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE bus_heads SET last_pos = last_pos WHERE partition = 0`)
		if err == nil && n != 1 {
			err = errors.New("the log's tables are not set up")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write to the event log: %w", err)
	}
	if _, err := readHeads(ctx, l.db); err != nil {
		return fmt.Errorf("read the event log: %w", err)
	}
	return nil
}

// Close ends running consumers, finishes the appends that are under way and waits for both.
func (l *Log) Close() error {
	l.consumers.Close()
	for _, a := range l.appenders {
		a.close()
	}
	l.heads.close()
	return nil
}

var _ bus.Log = (*Log)(nil)
