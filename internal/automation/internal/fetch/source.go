package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// stream gives an answer that streams: open, for a loop to read, or when all of its chunks were emitted.
func (c *Client) stream(f *machine.Frame, r *request, got *answer, s span) (any, error) {
	if got.status >= http.StatusBadRequest {
		c.report(f, r, got, nil)
	}
	if r.stream != nil && r.stream.event != "" {
		result, err := c.emitAll(f, r, got)
		s.end(got.status, err)
		return result, err
	}
	made := newSource(got, r.stream, c.deps.MaxBody)
	made.closed = func(err error) { s.end(got.status, err) }
	// Nobody has to read a stream to its end: it is closed with the run, which its context ends with.
	context.AfterFunc(got.live.ctx, func() { _ = made.Close() })
	return got.detailed(made, made), nil
}

func newSource(got *answer, said *streaming, limit int64) *source {
	s := &source{
		live: got.live, chunks: newChunks(got.live.response.Body, got.kind == "text/event-stream"), said: said,
		turn: make(chan struct{}, 1), closed: func(error) {},
	}
	if s.joined.limit = limit; said != nil {
		s.joined.path = said.path
	}
	return s
}

// source is a stream that a loop reads.
type source struct {
	live   *attempt
	chunks *chunks
	said   *streaming
	joined joined
	index  int
	// turn lets one reader in at a time.
	turn   chan struct{}
	once   sync.Once
	closed func(error)
}

var _ machine.Source = (*source)(nil)

// Next waits for the next chunk.
func (s *source) Next(ctx context.Context) (item any, ok bool, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { s.live.cancel(context.Cause(ctx)) })
	defer stop()
	c, err := s.chunks.next()
	if err == nil {
		if err = s.joined.add(c); err == nil {
			made := s.said.item(s.index, c.value(), s.joined.value())
			s.index++
			return made, true, nil
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.finish(nil)
		return nil, false, nil
	}
	s.finish(err)
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	return nil, false, failureOf(s.live.explainStream(err))
}

// Close gives up the rest.
func (s *source) Close() error {
	s.finish(nil)
	return nil
}

func (s *source) finish(err error) {
	s.once.Do(func() {
		s.live.end()
		s.closed(err)
	})
}

// explainStream is why a stream that had begun broke off.
func (a *attempt) explainStream(err error) error {
	if bad := badAnswerError(""); errors.As(err, &bad) {
		return err
	}
	return badAnswerError("The address ended the stream early.")
}

// emitAll makes an event of each chunk, and gives the answer when the stream has ended.
func (c *Client) emitAll(f *machine.Frame, r *request, got *answer) (any, error) {
	if c.deps.Emit == nil {
		got.live.end()
		return nil, invalid("Invalid fetch instruction: stream.event is not available here; read the stream with repeat.")
	}
	e := &emitter{
		said: r.stream, clock: c.deps.Clock, joined: joined{path: r.stream.path, limit: c.deps.MaxBody},
		emit: func(payload *value.Object) error {
			return c.deps.Emit(f, r.stream.event, payload, r.stream.target, r.stream.options)
		},
	}
	err := e.run(got.live.ctx, newChunks(got.live.response.Body, got.kind == "text/event-stream"), got.live.end)
	var failure *machine.Failure
	switch {
	case err == nil:
		return got.detailed(e.joined.value(), true), nil
	case f.Context().Err() != nil:
		return nil, context.Cause(f.Context())
	case errors.As(err, &failure), errors.Is(err, errEmit):
		return nil, err
	}
	return nil, c.failed(f, r, got, got.live.explainStream(err))
}
