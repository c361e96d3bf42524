package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// worker works through one partition for as long as the instance holds it.
type worker struct {
	instance *instance
	granted  grant

	ctx     context.Context //nolint:containedctx // the lease: it ends when the partition is lost
	cancel  context.CancelCauseFunc
	waiting context.Context //nolint:containedctx // ends earlier: when the partition is to be given back
	drain   context.CancelFunc

	mu   sync.Mutex
	owed Cursor // past events that needed nothing, and not stored yet
}

func newWorker(i *instance, granted grant) *worker {
	w := &worker{instance: i, granted: granted}
	w.ctx, w.cancel = context.WithCancelCause(i.tenure.ctx)
	w.waiting, w.drain = context.WithCancel(w.ctx)
	return w
}

func (w *worker) run() {
	defer w.cancel(nil)
	defer w.release()
	feed := w.instance.feed(w.ctx, w.granted.partition, w.granted.cursor)
	defer feed.Close()
	w.loop(feed)
}

func (w *worker) loop(feed Feed) {
	at := w.granted.cursor
	for w.waiting.Err() == nil {
		batch, ok := w.next(feed, at)
		if !ok || !w.finish(batch) {
			return
		}
		at = batch.Next
	}
}

// next waits for events, through failures to read them; false when the partition is to be left.
func (w *worker) next(feed Feed, at Cursor) (Batch, bool) {
	pauses := newPauses()
	for {
		batch, err := feed.Next(w.waiting, at, w.instance.spec.Batch)
		if err == nil {
			return batch, true
		}
		if w.waiting.Err() != nil || !w.pause(pauses, "events cannot be read", err) {
			return Batch{}, false
		}
	}
}

// finish repeats a batch until it is done; false when the partition is to be left.
func (w *worker) finish(batch Batch) bool {
	pauses := newPauses()
	for {
		err := w.attempt(batch)
		if err == nil {
			return true
		}
		if errors.Is(err, errLost) || w.waiting.Err() != nil {
			return false
		}
		if !w.pause(pauses, "a consumer failed; the same events come again", err) {
			return false
		}
	}
}

// attempt does the work of a batch and moves the cursor. Where there was no work the instance stores it later.
func (w *worker) attempt(batch Batch) error {
	err := w.work(batch)
	if errors.Is(err, bus.ErrIdle) {
		w.owe(batch.Next)
		return nil
	}
	return err
}

func (w *worker) work(batch Batch) error {
	spec, leases := w.instance.spec, w.instance.leases
	if spec.HandleTx != nil {
		return guarded(func() error {
			return w.instance.runner.DB.Tx(w.ctx, func(tx *sqldb.Tx) error {
				if err := spec.HandleTx(w.ctx, tx, batch); err != nil {
					return err
				}
				return leases.move(w.ctx, tx, w.granted, batch.Next)
			})
		})
	}
	if err := guarded(func() error { return spec.Handle(w.ctx, batch) }); err != nil {
		return err
	}
	ctx, cancel := w.closing() // the work is done: note it even when ctx has just ended
	defer cancel()
	return w.instance.runner.DB.Tx(ctx, func(tx *sqldb.Tx) error { return leases.move(ctx, tx, w.granted, batch.Next) })
}

// guarded turns a panic of the handler into an error, so that one event cannot take the process down again and again.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

func newPauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = 100 * time.Millisecond
	b.MaxInterval = 30 * time.Second
	return b
}

// pause logs and waits; false when the partition is to be left.
func (w *worker) pause(pauses *backoff.ExponentialBackOff, message string, err error) bool {
	d := pauses.NextBackOff()
	w.instance.runner.Log.WarnContext(w.waiting, message, //nolint:sloglint // one of two fixed messages
		"consumer", w.instance.spec.Name, "partition", w.granted.partition, "pause", d, "error", err)
	timer := w.instance.runner.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-w.waiting.Done():
		return false
	}
}

// closing is a context for the last words after the worker's own has ended.
func (w *worker) closing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(w.ctx), w.instance.runner.Lease)
}

func (w *worker) owe(to Cursor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to.Position > w.owed.Position {
		w.owed = to
	}
}

// owes gives what is to be stored, once.
func (w *worker) owes() (to Cursor, owing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, w.owed = w.owed, Cursor{}
	return to, to != Cursor{}
}

func (w *worker) release() {
	ctx, cancel := w.closing()
	defer cancel()
	if to, owing := w.owes(); owing {
		if err := w.instance.leases.settle(ctx, []debt{{w.granted, to}}); err != nil {
			w.instance.runner.Log.WarnContext(ctx, "a consumer could not note how far it came; it sees some events again",
				"consumer", w.instance.spec.Name, "partition", w.granted.partition, "error", err)
		}
	}
	if err := w.instance.leases.release(ctx, w.granted); err != nil {
		w.instance.runner.Log.WarnContext(ctx, "a partition could not be given back; its lease ends by itself",
			"consumer", w.instance.spec.Name, "partition", w.granted.partition, "error", err)
	}
}
