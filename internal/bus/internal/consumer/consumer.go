// Package consumer runs the durable consumers of a log: instances share the partitions by leases with a fencing epoch,
// hold durable cursors in SQL, and work through each partition in order. Where the events come from is the driver's.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

// Cursor is how far a partition has been worked through. Position decides; Sequence is a hint where to go on reading in
// a broker's stream.
type Cursor struct {
	Position bus.Position
	Sequence int64
}

// Batch is a run of events of one partition that follow a cursor without a gap, and the cursor past them.
type Batch struct {
	After  Cursor
	Events []bus.Event
	Next   Cursor
}

// NewBatch is a batch whose events do not come from a broker's stream.
func NewBatch(after Cursor, events []bus.Event) Batch {
	return Batch{After: after, Events: events, Next: Cursor{Position: events[len(events)-1].Position, Sequence: after.Sequence}}
}

// Feed reads one partition. It is used by one goroutine at a time.
type Feed interface {
	// Next waits for events after the cursor and gives at most limit of them, at least one.
	Next(ctx context.Context, after Cursor, limit int) (Batch, error)
	// Close releases the feed and waits for what it started.
	Close()
}

// OpenFeed opens a partition at its cursor; ctx ends when the partition is lost.
type OpenFeed func(ctx context.Context, partition int, from Cursor) Feed

// Spec says what a consumer does. Exactly one of Handle and HandleTx is set.
type Spec struct {
	Name      string
	FromStart bool
	Batch     int
	Handle    func(ctx context.Context, batch Batch) error
	HandleTx  func(ctx context.Context, tx *sqldb.Tx, batch Batch) error
}

// FromBus is the spec of a consumer as callers declare it.
func FromBus(c bus.Consumer) Spec {
	s := Spec{Name: c.Name, FromStart: c.FromStart, Batch: c.Batch}
	if c.Handle != nil {
		s.Handle = func(ctx context.Context, batch Batch) error { return c.Handle(ctx, batch.Events) }
	}
	if c.HandleTx != nil {
		s.HandleTx = func(ctx context.Context, tx *sqldb.Tx, batch Batch) error { return c.HandleTx(ctx, tx, batch.Events) }
	}
	return s
}

func (s *Spec) prepare() error {
	if s.Name == "" {
		return errors.New("a consumer needs a name")
	}
	if (s.Handle == nil) == (s.HandleTx == nil) {
		return fmt.Errorf("consumer %s: exactly one of Handle and HandleTx must be set", s.Name)
	}
	const defaultBatch = 100
	if s.Batch <= 0 {
		s.Batch = defaultBatch
	}
	return nil
}

// Runner runs consumers.
type Runner struct {
	DB    *sqldb.DB
	Clock clock.Clock
	Log   *slog.Logger
	// Lease is how long a partition stays with an instance that does not renew it.
	Lease time.Duration
}

// Register creates the cursors of a consumer that was never seen before, ahead of Run.
func (r Runner) Register(ctx context.Context, name string, fromStart bool) error {
	return newLeases(r.DB, name, "", r.Lease).register(ctx, fromStart)
}

// Run works as one instance of the consumer until ctx ends, then gives its partitions back. The error tells
// that the consumer can never work.
func (r Runner) Run(ctx context.Context, spec Spec, feed OpenFeed) error {
	if err := spec.prepare(); err != nil {
		return err
	}
	newInstance(r, spec, feed).run(ctx)
	return nil
}
