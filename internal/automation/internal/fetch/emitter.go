package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// maxHeld is how many bytes of chunks are held back at most: an event has a limit too.
const maxHeld = 16 << 10

var errEmit = errors.New("emit a chunk")

// emitter makes events of the chunks of a stream.
type emitter struct {
	said   *streaming
	clock  clock.Clock
	emit   func(payload *value.Object) error
	joined joined
	index  int
	held   *chunk      // not emitted yet
	timer  clock.Timer // nil when nothing was emitted a moment ago
}

type arrival struct {
	chunk *chunk
	err   error
}

// run emits all chunks. Stop ends the stream, which the reader then notices: it is gone when run returns.
func (e *emitter) run(ctx context.Context, stream *chunks, stop func()) error {
	arrivals := make(chan arrival)
	go func() {
		defer close(arrivals)
		for {
			c, err := stream.next()
			select {
			case arrivals <- arrival{c, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	err := e.loop(ctx, arrivals)
	stop()
	for range arrivals { // the reader has left when this ends
		continue
	}
	if e.timer != nil {
		e.timer.Stop()
	}
	return err
}

func (e *emitter) loop(ctx context.Context, arrivals <-chan arrival) error {
	for {
		var fired <-chan time.Time
		if e.timer != nil {
			fired = e.timer.C()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-fired:
			e.timer = nil
			if err := e.flush(); err != nil {
				return err
			}
		case came, ok := <-arrivals:
			if !ok {
				return context.Cause(ctx)
			}
			if came.err != nil {
				return e.finish(came.err)
			}
			if err := e.add(came.chunk); err != nil {
				return err
			}
		}
	}
}

// add takes a chunk, and emits it unless one was emitted a moment ago.
func (e *emitter) add(c *chunk) error {
	if err := e.joined.add(c); err != nil {
		return err
	}
	if e.held == nil {
		e.held = c
	} else {
		e.held.merge(c)
	}
	if e.timer != nil && e.held.size < maxHeld {
		return nil
	}
	return e.flush()
}

// flush emits what is held.
func (e *emitter) flush() error {
	if e.held == nil {
		return nil
	}
	c := e.held
	e.held = nil
	if e.said.throttle > 0 {
		if e.timer != nil {
			e.timer.Stop()
		}
		e.timer = e.clock.NewTimer(e.said.throttle)
	}
	return e.send(c.value())
}

// finish emits what is left when the stream has ended.
func (e *emitter) finish(end error) error {
	if err := e.flush(); err != nil {
		return err
	}
	if !errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) {
		return end
	}
	if value.Exists(e.said.end) {
		return e.send(e.said.end)
	}
	return nil
}

func (e *emitter) send(chunk any) error {
	payload := e.said.item(e.index, chunk, e.joined.value())
	e.index++
	if err := e.emit(payload); err != nil {
		return fmt.Errorf("%w: %w", errEmit, err)
	}
	return nil
}
