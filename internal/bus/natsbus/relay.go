package natsbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"atelier/internal/bus"
	"atelier/internal/bus/internal/consumer"
)

// relayName is the relay's consumer name; its lag is what is not published yet.
const relayName = "relay"

// relay copies the table to the stream. It is a consumer of the table like any other, so the instances share it, one
// that is killed is replaced, and it starts where the last one stopped. It starts with the next event: what was
// appended before the broker was there is read from the table.
func (l *Log) relay(ctx context.Context) {
	err := l.consumers.Run(ctx, func(ctx context.Context) error {
		const window = 128 // messages of a partition on their way at once
		spec := consumer.Spec{Name: relayName, Batch: window, Handle: l.publish}
		return l.runner.Run(ctx, spec, func(_ context.Context, partition int, _ consumer.Cursor) consumer.Feed {
			return l.table.Feed(partition)
		})
	})
	if err != nil {
		l.log.ErrorContext(ctx, "the relay to the event broker does not run", "error", err)
	}
}

// publish sends a run of events and returns when the cluster has acknowledged all of them. When it fails half-way the
// same events come again; the broker drops those it has by their id, and readers notice a wrong order by themselves.
func (l *Log) publish(ctx context.Context, batch consumer.Batch) error {
	if err := l.online(ctx); err != nil {
		return err
	}
	previous := batch.After.Position
	acks := make([]jetstream.PubAckFuture, 0, len(batch.Events))
	for _, e := range batch.Events {
		ack, err := l.send(previous, e)
		if err != nil {
			return fmt.Errorf("publish events: %w", err)
		}
		acks = append(acks, ack)
		previous = e.Position
	}
	for _, ack := range acks {
		if err := l.await(ctx, ack); err != nil {
			return fmt.Errorf("publish events: %w", err)
		}
	}
	l.stats.published.Add(int64(len(acks)))
	return nil
}

func (l *Log) send(previous bus.Position, e bus.Event) (jetstream.PubAckFuture, error) {
	m := message{previous: previous, event: e}
	data := l.sealer.seal(m)
	const headers = 1024 // more than the headers take
	if int64(len(data)+headers) > l.conn.MaxPayload() {
		m.pointer = true
		data = l.sealer.seal(m)
	}
	return l.js.PublishMsgAsync(&nats.Msg{Subject: l.stream.subject(e.Position.Partition()), Data: data},
		jetstream.WithMsgID(e.Position.ID()), jetstream.WithExpectStream(l.stream.name))
}

// await waits for one acknowledgement. A missing stream is made again: readers find in the table what it held.
func (l *Log) await(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) {
			return errors.Join(err, l.stream.ensure(ctx, l.js))
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// online waits until the broker is connected.
func (l *Log) online(ctx context.Context) error {
	changed := l.conn.StatusChanged(nats.CONNECTED)
	defer l.conn.RemoveStatusListener(changed)
	for !l.conn.IsConnected() {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
