package natsbus

import (
	"context"
	"time"

	"atelier/internal/bus"
	"atelier/internal/bus/internal/consumer"
	"atelier/internal/bus/sqlbus"
)

// feed gives a consumer the events of a partition: from the stream where it can, and from the table where the stream
// has a gap, is silent for too long or holds only a pointer. A message is used only when its predecessor is known to be
// handled, so nothing the broker loses, repeats, reorders or is given by a stranger changes what the consumer sees.
type feed struct {
	log       *Log
	partition int
	pump      *pump
	table     consumer.Feed
	held      *delivery    // received, but not used yet
	silent    bool         // the stream gives nothing although there are events
	begun     bool         // the table was looked at once, for what was never relayed
	overdue   bus.Position // was in the table, but not in the stream, at the last look
}

// delivery is a message with its place in the stream.
type delivery struct {
	message
	sequence int64
}

func openFeed(ctx context.Context, l *Log, partition int, sequence int64) *feed {
	return &feed{log: l, partition: partition, pump: startPump(ctx, l, partition, sequence), table: l.table.Feed(partition)}
}

// Close stops reading the stream.
func (f *feed) Close() { f.pump.close() }

// Next waits for events after the cursor.
func (f *feed) Next(ctx context.Context, after consumer.Cursor, limit int) (consumer.Batch, error) {
	for {
		batch, missing := f.gather(&after, limit)
		var err error
		switch {
		case len(batch.Events) > 0:
			f.log.stats.fromStream.Add(int64(len(batch.Events)))
			return batch, nil
		case missing:
			batch, err = f.fill(ctx, &after, limit)
		case f.silent:
			batch, err = f.watchTable(ctx, after, limit)
		default:
			batch, err = f.listen(ctx, after, limit)
		}
		if err != nil || len(batch.Events) > 0 {
			f.log.stats.fromTable.Add(int64(len(batch.Events)))
			return batch, err
		}
	}
}

// gather takes what has already arrived and follows the cursor. missing tells that there is a message to be used, but
// events before it are missing. Messages that are not needed any more move only the sequence.
func (f *feed) gather(after *consumer.Cursor, limit int) (batch consumer.Batch, missing bool) {
	batch = consumer.Batch{After: *after, Next: *after}
	for len(batch.Events) < limit && f.receive() {
		d := f.held
		switch {
		case d.event.Position <= batch.Next.Position:
			batch.Next.Sequence = d.sequence
		case d.pointer || d.previous > batch.Next.Position:
			*after = consumer.Cursor{Position: after.Position, Sequence: batch.Next.Sequence}
			return batch, true
		default:
			batch.Events = append(batch.Events, d.event)
			batch.Next = consumer.Cursor{Position: d.event.Position, Sequence: d.sequence}
		}
		f.held = nil
	}
	if len(batch.Events) == 0 {
		after.Sequence = batch.Next.Sequence
	}
	return batch, false
}

// receive makes sure that a delivery is held, without waiting for one.
func (f *feed) receive() bool {
	if f.held != nil {
		return true
	}
	select {
	case d := <-f.pump.out:
		f.hold(d)
		return true
	default:
		return false
	}
}

func (f *feed) hold(d delivery) { f.held, f.silent, f.begun = &d, false, true }

// fill reads what lies before the message that is held, or that the message only points to.
func (f *feed) fill(ctx context.Context, after *consumer.Cursor, limit int) (consumer.Batch, error) {
	batch, err := f.readTable(ctx, *after, limit)
	if err == nil && len(batch.Events) == 0 { // the table does not hold it any more
		after.Sequence, f.held = f.held.sequence, nil
	}
	return batch, err
}

// listen waits for a delivery. When none comes for too long it looks into the table, and when it finds the same event
// there twice the stream is not to be relied on.
func (f *feed) listen(ctx context.Context, after consumer.Cursor, limit int) (consumer.Batch, error) {
	timer := f.log.clock.NewTimer(f.wait())
	defer timer.Stop()
	select {
	case d := <-f.pump.out:
		f.hold(d)
		return consumer.Batch{}, nil
	case <-ctx.Done():
		return consumer.Batch{}, ctx.Err()
	case <-timer.C():
	}
	batch, err := f.readTable(ctx, after, limit)
	if err != nil || len(batch.Events) == 0 {
		f.begun = f.begun || err == nil
		return batch, err
	}
	first := batch.Events[0].Position
	switch {
	case !f.begun:
		f.begun = true
		return batch, nil
	case f.overdue != first: // it may be on its way
		f.overdue = first
		return consumer.Batch{}, nil
	}
	f.silent = true
	f.log.log.WarnContext(ctx, "the event broker is silent; events are read from the database", "partition", f.partition)
	return batch, nil
}

// wait is how long to listen: not long at first, since there may be events from before the relay first ran.
func (f *feed) wait() time.Duration {
	const short = 200 * time.Millisecond
	if !f.begun {
		return min(short, f.log.patience)
	}
	return f.log.patience
}

// watchTable waits for events in the table, and looks now and then whether the stream speaks again.
func (f *feed) watchTable(ctx context.Context, after consumer.Cursor, limit int) (consumer.Batch, error) {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	batch, err := f.table.Next(short, after, limit)
	if short.Err() != nil && ctx.Err() == nil {
		return consumer.Batch{}, nil
	}
	return batch, err
}

func (f *feed) readTable(ctx context.Context, after consumer.Cursor, limit int) (consumer.Batch, error) {
	events, err := sqlbus.Following(ctx, f.log.db, f.partition, after.Position, limit)
	if err != nil || len(events) == 0 {
		return consumer.Batch{}, err
	}
	return consumer.NewBatch(after, events), nil
}

var _ consumer.Feed = (*feed)(nil)
