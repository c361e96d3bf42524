// Package natsbus carries the event log over a NATS JetStream cluster, for installations whose consumers would read the
// database too much. The table of sqlbus stays the store of truth and is the outbox: an append is one SQL commit and
// never waits for the broker. A relay publishes each partition in order; consumers take the events from the stream and
// fall back to the table for whatever the stream does not give them.
//
// # For operators
//
// What is acknowledged is durable in SQL, so the cluster can lose everything without an event being lost. To keep it
// from losing acknowledged messages anyway, set `sync_interval: always` in the servers' jetstream block: the default
// writes to disk every two minutes. Clients cannot see that setting, so Open cannot check it; it does check that the
// stream is stored in files and on as many servers as configured.
package natsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"atelier/internal/bus"
	"atelier/internal/bus/internal/consumer"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Log is the event log over JetStream.
type Log struct {
	table     *sqlbus.Log
	db        *sqldb.DB
	clock     clock.Clock
	log       *slog.Logger
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    stream
	sealer    sealer
	patience  time.Duration
	runner    consumer.Runner
	consumers *consumer.Group
	relaying  sync.WaitGroup
	stats     counters
}

// Option changes how a log works.
type Option func(*options)

type options struct {
	lease    time.Duration
	patience time.Duration
	dialer   nats.CustomDialer
}

// WithLease sets how long a consumer keeps its partitions without renewing them.
func WithLease(d time.Duration) Option { return func(o *options) { o.lease = d } }

// WithPatience sets how long a consumer waits for the broker before it looks into the table, whether something is late.
func WithPatience(d time.Duration) Option { return func(o *options) { o.patience = d } }

// WithDialer makes the connections to the servers, including those the cluster tells of.
func WithDialer(d nats.CustomDialer) Option { return func(o *options) { o.dialer = d } }

// Open connects, creates or verifies the stream and starts the relay. The database is migrated with sqlbus.Migrations.
// It fails when the broker cannot be reached or would keep the stream less safely than configured; once open, the log
// goes on without the broker. The caller closes it before the database.
func Open(ctx context.Context, cfg Config, db *sqldb.DB, clk clock.Clock, log *slog.Logger, opts ...Option) (*Log, error) {
	o := options{lease: 10 * time.Second, patience: 3 * time.Second}
	for _, set := range opts {
		set(&o)
	}
	l := &Log{
		db: db, clock: clk, log: log, patience: o.patience,
		runner:    consumer.Runner{DB: db, Clock: clk, Log: log, Lease: o.lease},
		consumers: consumer.NewGroup(),
	}
	if err := l.connect(ctx, cfg, o.dialer); err != nil {
		return nil, fmt.Errorf("open the event broker: %w", err)
	}
	table, err := sqlbus.Open(db, clk, log, sqlbus.WithLease(o.lease)) //nolint:contextcheck // it lives until Close
	if err != nil {
		l.conn.Close()
		return nil, err
	}
	l.table = table
	if err := l.runner.Register(ctx, relayName, false); err != nil { // from here on every event is relayed
		return nil, errors.Join(fmt.Errorf("register the relay: %w", err), l.Close())
	}
	l.relaying.Go(func() { l.relay(context.WithoutCancel(ctx)) })
	return l, nil
}

func (l *Log) connect(ctx context.Context, cfg Config, dialer nats.CustomDialer) (err error) {
	if l.stream, err = cfg.stream(); err != nil {
		return err
	}
	if l.sealer, err = loadSealer(ctx, l.db); err != nil {
		return err
	}
	if l.conn, err = cfg.dial(l.log, dialer); err != nil {
		return err
	}
	if l.js, err = jetstream.New(l.conn, jetstream.WithPublishAsyncTimeout(publishTimeout)); err == nil {
		err = l.stream.ensure(ctx, l.js)
	}
	if err != nil {
		l.conn.Close()
	}
	return err
}

// Driver is the log as operators know it.
func (l *Log) Driver() string { return "nats" }

// AppendTx adds the events in the caller's transaction, as sqlbus does.
func (l *Log) AppendTx(ctx context.Context, tx *sqldb.Tx, records ...bus.Record) ([]bus.Event, error) {
	return l.table.AppendTx(ctx, tx, records...)
}

// Append adds the events on their own, as sqlbus does.
func (l *Log) Append(ctx context.Context, records ...bus.Record) ([]bus.Event, error) {
	return l.table.Append(ctx, records...)
}

// Consume runs the consumer on the stream until ctx ends or the log is closed.
func (l *Log) Consume(ctx context.Context, c bus.Consumer) error {
	if c.Name == relayName {
		return fmt.Errorf("the consumer name %q is the log's own", relayName)
	}
	return l.consumers.Run(ctx, func(ctx context.Context) error {
		return l.runner.Run(ctx, consumer.FromBus(c), func(ctx context.Context, partition int, from consumer.Cursor) consumer.Feed {
			return openFeed(ctx, l, partition, from.Sequence)
		})
	})
}

// Lag counts the events that the consumer has not acknowledged. The relay's own lag has the name "relay".
func (l *Log) Lag(ctx context.Context, name string) (int64, error) { return l.table.Lag(ctx, name) }

// Wait returns as soon as a partition holds an event after the position, with the position of its newest one.
func (l *Log) Wait(ctx context.Context, partition int, after bus.Position) (bus.Position, error) {
	return l.table.Wait(ctx, partition, after)
}

// Ping proves that the table can be written and read and that the broker holds the stream.
func (l *Log) Ping(ctx context.Context) error {
	if err := l.table.Ping(ctx); err != nil {
		return err
	}
	if _, err := l.js.Stream(ctx, l.stream.name); err != nil {
		return fmt.Errorf("ask the event broker for its stream (appends and consumers go on from the database): %w", err)
	}
	return nil
}

// Close ends the consumers and the relay, finishes the appends that are under way, and waits for all of them.
func (l *Log) Close() error {
	l.consumers.Close()
	l.relaying.Wait()
	err := l.table.Close()
	l.conn.Close()
	return err
}

// Stats counts what this process has done since it was opened.
type Stats struct {
	Published  int64 // events the relay has published
	FromStream int64 // events consumers got from the broker
	FromTable  int64 // events consumers had to read from the database
	Refused    int64 // messages whose seal was wrong
}

type counters struct{ published, fromStream, fromTable, refused atomic.Int64 }

// Stats gives the counts of this moment.
func (l *Log) Stats() Stats {
	return Stats{
		Published: l.stats.published.Load(), FromStream: l.stats.fromStream.Load(),
		FromTable: l.stats.fromTable.Load(), Refused: l.stats.refused.Load(),
	}
}

var errNoURL = errors.New("no server address is configured")

var _ bus.Log = (*Log)(nil)
