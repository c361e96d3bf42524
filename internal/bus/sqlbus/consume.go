package sqlbus

import (
	"context"
	"fmt"

	"atelier/internal/bus"
	"atelier/internal/bus/internal/consumer"
)

// Consume runs the consumer on the table until ctx ends or the log is closed.
func (l *Log) Consume(ctx context.Context, c bus.Consumer) error {
	return l.consumers.Run(ctx, func(ctx context.Context) error {
		return l.runner.Run(ctx, consumer.FromBus(c), func(_ context.Context, partition int, _ consumer.Cursor) consumer.Feed {
			return l.Feed(partition)
		})
	})
}

// Lag counts the events that the consumer has not acknowledged. A consumer that never ran has none.
func (l *Log) Lag(ctx context.Context, name string) (int64, error) {
	var lag int64
	err := l.db.QueryRow(ctx, `SELECT COUNT(*) FROM bus_cursors c
		JOIN bus_events e ON e.partition = c.partition AND e.pos > c.last_pos
		WHERE c.consumer = $1`, name).Scan(&lag)
	if err != nil {
		return 0, fmt.Errorf("count the events a consumer is behind: %w", err)
	}
	return lag, nil
}

// Wait returns as soon as a partition holds an event after the position, with the position of its newest one.
func (l *Log) Wait(ctx context.Context, partition int, after bus.Position) (bus.Position, error) {
	return l.heads.wait(ctx, partition, after)
}

// Feed reads a partition of the table as a consumer does. It is for the drivers that use the table as their outbox.
func (l *Log) Feed(partition int) consumer.Feed { return &tableFeed{log: l, partition: partition} }

type tableFeed struct {
	log       *Log
	partition int
	seen      bus.Position // up to here there is nothing to read any more
}

// Next waits for events after the cursor and reads them.
func (f *tableFeed) Next(ctx context.Context, after consumer.Cursor, limit int) (consumer.Batch, error) {
	for {
		head, err := f.log.heads.wait(ctx, f.partition, max(after.Position, f.seen))
		if err != nil {
			return consumer.Batch{}, err
		}
		events := f.log.recent.following(f.partition, after.Position, limit)
		if len(events) == 0 {
			if events, err = Following(ctx, f.log.db, f.partition, after.Position, limit); err != nil {
				return consumer.Batch{}, err
			}
		}
		if len(events) > 0 {
			return consumer.NewBatch(after, events), nil
		}
		f.seen = head // what was there has been removed; wait for something newer
	}
}

// Close holds nothing to release.
func (f *tableFeed) Close() {}
