package webhooks

import (
	"context"
	"sync"
	"time"

	"atelier/internal/bus"
)

const (
	// consumerName is that of the log's consumer, and of its cursors.
	consumerName = "webhooks"
	batch        = 200
	// How often somebody looks for work: when there was some a moment ago, and when there was none.
	busyPoll, idlePoll = 100 * time.Millisecond, time.Second
	busyRounds         = 20
	// grace is how long deliveries under way may take when the process stops. What is not finished is sent again later.
	grace = 5 * time.Second
)

// Run queues deliveries and sends them until ctx ends, sharing the work with the other instances that do, and waits for
// everything that it has started.
func (w *Webhooks) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sending, abort := context.WithCancel(context.WithoutCancel(ctx))
	var started sync.WaitGroup
	var failure error
	started.Go(func() {
		defer cancel() // neither is of use without the other
		failure = w.Bus.Consume(ctx, bus.Consumer{Name: consumerName, FromStart: true, Batch: batch, HandleTx: w.match})
	})
	started.Go(func() {
		defer abort() // then nothing is under way any more
		w.dispatch(ctx, sending)
	})
	started.Go(func() { w.hurry(ctx, sending, abort) })
	started.Wait()
	return failure
}

// hurry ends what is still under way a moment after the process was asked to stop.
func (w *Webhooks) hurry(ctx, sending context.Context, abort context.CancelFunc) {
	<-ctx.Done()
	timer := w.Clock.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-timer.C():
		abort()
	case <-sending.Done():
	}
}

// dispatch starts a runner for every endpoint that has something to send, and waits for them in the end.
func (w *Webhooks) dispatch(ctx, sending context.Context) {
	var runners sync.WaitGroup
	defer runners.Wait()
	quiet := 0
	for ctx.Err() == nil {
		started, err := w.start(ctx, sending, &runners)
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "deliveries of webhooks cannot be read; trying again", "error", err.Error())
		}
		quiet++
		if started > 0 {
			quiet = 0
		}
		wait := idlePoll
		if quiet < busyRounds && err == nil {
			wait = busyPoll
		}
		timer := w.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-w.wake:
			quiet = 0
			w.wakeRunners()
		}
		timer.Stop()
	}
}

// start takes endpoints that wait, as many as there is room for.
func (w *Webhooks) start(ctx, sending context.Context, runners *sync.WaitGroup) (started int, err error) {
	w.mu.Lock()
	room := w.Settings.Workers - len(w.running)
	w.mu.Unlock()
	if room <= 0 {
		return 0, nil
	}
	ids, err := w.waiting(ctx, room)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		began := w.Clock.Now()
		fence, ok, err := w.take(ctx, id)
		if err != nil {
			return started, err
		}
		if !ok {
			continue
		}
		started++
		r := newRunner(w, id, fence, began)
		w.mu.Lock()
		w.running[id] = r
		w.mu.Unlock()
		runners.Go(func() {
			r.run(ctx, sending)
			w.mu.Lock()
			if w.running[id] == r {
				delete(w.running, id)
			}
			w.mu.Unlock()
			w.nudge() // there is room
		})
	}
	return started, nil
}

func (w *Webhooks) wakeRunners() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.running {
		r.nudge()
	}
}
