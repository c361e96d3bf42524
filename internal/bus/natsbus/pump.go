package natsbus

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// pump reads one partition of the stream ahead of the consumer and starts over after every trouble.
type pump struct {
	log       *Log
	partition int
	next      int64 // the sequence to go on with
	refused   bool  // a message was refused; it is said once
	out       chan delivery
	cancel    context.CancelFunc
	done      chan struct{}
}

const (
	readAhead  = 256
	fetchTime  = 5 * time.Second
	earlyTries = 10
	earlyPause = 20 * time.Millisecond
	idleReader = time.Minute // after which the broker forgets a reader that asks for nothing
)

func startPump(ctx context.Context, l *Log, partition int, sequence int64) *pump {
	ctx, cancel := context.WithCancel(ctx)
	p := &pump{
		log: l, partition: partition, next: sequence + 1,
		out: make(chan delivery, readAhead), cancel: cancel, done: make(chan struct{}),
	}
	go p.loop(ctx)
	return p
}

func (p *pump) close() {
	p.cancel()
	<-p.done
}

func (p *pump) loop(ctx context.Context) {
	defer close(p.done)
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, 5*time.Second
	for ctx.Err() == nil {
		started := p.log.clock.Now()
		err := p.read(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.log.clock.Now().Sub(started) > pauses.MaxInterval {
			pauses.Reset()
		}
		p.log.log.DebugContext(ctx, "reading the event broker starts over", "partition", p.partition, "error", err)
		p.rest(ctx, pauses.NextBackOff())
	}
}

func (p *pump) rest(ctx context.Context, d time.Duration) {
	timer := p.log.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// read goes through the stream until something fails.
func (p *pump) read(ctx context.Context) error {
	if err := p.log.online(ctx); err != nil {
		return err
	}
	reader, err := p.subscribe(ctx)
	if err != nil {
		return err
	}
	for early := 0; ; {
		err := p.fetch(ctx, reader)
		switch {
		case err == nil:
			early = 0
		case errors.Is(err, nats.ErrNoResponders) && early < earlyTries:
			early++ // the servers have not all heard of the new reader yet
			p.rest(ctx, earlyPause)
		default:
			return err
		}
	}
}

// fetch asks for messages and hands them over as they come, until there were many or none came for a while.
func (p *pump) fetch(ctx context.Context, reader jetstream.Consumer) error {
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	batch, err := reader.Fetch(readAhead, jetstream.FetchContext(limited))
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		if err := p.deliver(ctx, msg); err != nil {
			return err
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ctx.Err()
}

// subscribe starts at the next sequence, or with the oldest message when the stream is a new one that has not come so
// far. Nothing is acknowledged to the broker: the cursor is in the database.
func (p *pump) subscribe(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	found, err := p.log.js.Stream(ctx, p.log.stream.name)
	if err != nil {
		return nil, err
	}
	start := uint64(p.next) //nolint:gosec // sequences are positive
	if start > found.CachedInfo().State.LastSeq+1 {
		start = 1
	}
	return found.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject:     p.log.stream.subject(p.partition),
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       start,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: idleReader,
	})
}

// deliver hands a message over, or drops it when it was not made by this installation.
func (p *pump) deliver(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	sequence := int64(meta.Sequence.Stream) //nolint:gosec // far below the limit
	p.next = sequence + 1
	content, err := p.log.sealer.open(msg.Data())
	if err == nil && content.event.Position.Partition() != p.partition {
		err = errSeal // ours, but put on another subject
	}
	if err != nil {
		p.log.stats.refused.Add(1)
		if !p.refused {
			p.refused = true
			p.log.log.WarnContext(ctx, "messages of the event broker are refused", "partition", p.partition, "sequence", sequence, "error", err)
		}
		return nil
	}
	select {
	case p.out <- delivery{message: content, sequence: sequence}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
