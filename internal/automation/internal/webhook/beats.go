package webhook

import (
	"context"
	"time"

	"atelier/internal/clock"
)

// beats are the signs of life of a stream, sent by a goroutine of its own until stop is called, which waits for it.
type beats struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// keepAlive is the event that is a sign of life.
const keepAlive = `{"keepAlive": true}`

// beat begins signs of life, at another pace than before when there were some; 0 ends them. The turn is held.
func (s *Stream) beat(every time.Duration) error {
	s.stopBeats()
	if s.events == nil {
		s.begin()
		if s.events.Beat() != nil { // something must be written, or what compresses answers keeps the beginning back
			s.gone = true
			return context.Canceled
		}
	}
	if every <= 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.beats = &beats{cancel: cancel, done: make(chan struct{})}
	go func(b *beats) {
		defer close(b.done)
		tick(ctx, s.options.Clock, max(every, s.options.KeepAliveFloor), func() bool { return s.alive(ctx) })
	}(s.beats)
	return nil
}

// alive sends a sign of life; false when there will be no more.
func (s *Stream) alive(ctx context.Context) bool {
	if s.take(ctx) != nil {
		return false
	}
	defer s.give()
	return ctx.Err() == nil && !s.ended && !s.gone && s.send([]byte(keepAlive)) == nil
}

// stopBeats ends the signs of life, and waits for the one that is being sent. It is called with the turn, for which that one may be
// waiting: it gives up when it is told to end.
func (s *Stream) stopBeats() {
	if s.beats == nil {
		return
	}
	s.beats.cancel()
	<-s.beats.done
	s.beats = nil
}

// tick calls do again and again, until it says no or ctx ends.
func tick(ctx context.Context, clk clock.Clock, every time.Duration, do func() bool) {
	for {
		timer := clk.NewTimer(every)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if !do() {
			return
		}
	}
}
