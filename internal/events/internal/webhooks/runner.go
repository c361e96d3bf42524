package webhooks

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
	"atelier/internal/failpoint"
)

// runner works through the queue of one endpoint for as long as something is due, and is the only one in the cluster that
// does. A slow endpoint has a slow runner, and nobody else waits for it.
type runner struct {
	hooks *Webhooks
	id    string
	fence int64
	// until is when the lease ends, by this process's clock, counted from before it was asked for.
	until atomic.Int64
	wake  chan struct{}
	ended chan ended

	// Those below are the loop's own.
	renewed   time.Time
	s         *Subscription
	ability   *access.Ability
	abilityAt time.Time
	flying    map[string]bool
	// trouble is why the last attempt was not recorded. It is not repeated before pauseUntil: an endpoint is not flooded
	// because the database cannot be written.
	trouble    error
	pauseUntil time.Time
}

// ended is a delivery that is not under way any more; an error tells that what came of it is not on record.
type ended struct {
	id  string
	err error
}

const (
	renewals   = 3               // of a lease in its length
	abilityAge = 2 * time.Second // how long what a reader may do is believed

	troublePause = 5 * time.Second
)

func newRunner(w *Webhooks, id string, fence int64, began time.Time) *runner {
	r := &runner{hooks: w, id: id, fence: fence, renewed: began, wake: make(chan struct{}, 1), ended: make(chan ended, maxConcurrency), flying: map[string]bool{}}
	r.until.Store(began.Add(w.Settings.Lease).UnixMilli())
	return r
}

func (r *runner) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run sends what is due and gives the endpoint back.
func (r *runner) run(ctx, sending context.Context) {
	for ctx.Err() == nil {
		more, err := r.step(ctx, sending)
		if errors.Is(err, errLost) {
			break
		}
		if err != nil && ctx.Err() == nil {
			r.hooks.Log.WarnContext(ctx, "webhooks of an endpoint cannot be delivered; trying again", "subscription_id", r.id, "error", err.Error())
			if r.expired(0) {
				break
			}
		}
		if err == nil && !more && len(r.flying) == 0 && r.trouble == nil {
			done, err := r.hooks.release(ctx, r.id, r.fence, false)
			if err == nil && done {
				return
			}
		}
		r.rest(ctx, err != nil || !more)
	}
	for len(r.flying) > 0 {
		r.land(<-r.ended)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if _, err := r.hooks.release(closing, r.id, r.fence, true); err != nil {
		r.hooks.Log.WarnContext(closing, "an endpoint could not be given back; another instance takes it over when its lease ends", "subscription_id", r.id, "error", err.Error())
	}
}

// rest waits until a delivery has ended, or there may be something new.
func (r *runner) rest(ctx context.Context, idle bool) {
	if !idle && len(r.flying) == 0 {
		return
	}
	timer := r.hooks.Clock.NewTimer(idlePoll)
	defer timer.Stop()
	select {
	case e := <-r.ended:
		r.land(e)
	case <-r.wake:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// land takes note of a delivery that has ended.
func (r *runner) land(e ended) {
	delete(r.flying, e.id)
	if r.trouble = e.err; e.err != nil {
		r.pauseUntil = r.hooks.Clock.Now().Add(troublePause)
	}
}

// step renews what has to be renewed and starts what is due; more tells that it started something.
func (r *runner) step(ctx, sending context.Context) (more bool, err error) {
	w := r.hooks
	if errors.Is(r.trouble, errLost) {
		return false, r.trouble
	}
	if now := w.Clock.Now(); now.Sub(r.renewed) >= w.Settings.Lease/renewals {
		if err := w.renew(ctx, r.id, r.fence); err != nil {
			return false, err
		}
		r.renewed = now
		r.until.Store(now.Add(w.Settings.Lease).UnixMilli())
	}
	if err := r.load(ctx); err != nil {
		return false, err
	}
	room := r.room()
	if room <= 0 {
		return false, nil
	}
	now := w.Clock.Now()
	if r.s.RetryAt.After(now) || r.pauseUntil.After(now) {
		return false, nil
	}
	deliveries, err := due(ctx, w.DB, r.id, now, room+len(r.flying))
	if err != nil {
		return false, err
	}
	for i := range deliveries {
		if r.flying[deliveries[i].ID] || room == 0 {
			continue
		}
		more = true
		room--
		if err := r.launch(ctx, sending, &deliveries[i]); err != nil {
			return more, err
		}
	}
	return more, nil
}

// room is how many more deliveries may be under way. An endpoint that has just failed gets one at a time, so that it neither
// is flooded when it comes back nor holds more than one worker.
func (r *runner) room() int {
	most := r.s.Concurrency
	if r.s.failures > 0 {
		most = 1
	}
	return most - len(r.flying)
}

// load reads the subscription as it is now, and what its reader may do.
func (r *runner) load(ctx context.Context) error {
	w := r.hooks
	s, err := byID(ctx, w.DB, r.id)
	if err != nil || s.State != Active {
		return errors.Join(err, errLost)
	}
	if r.s == nil || r.s.revision != s.revision {
		w.peek(ctx, &s)
		r.ability = nil
	} else {
		s.content = r.s.content
	}
	r.s = &s
	if r.ability != nil && w.Clock.Now().Sub(r.abilityAt) < abilityAge {
		return nil
	}
	if r.ability, err = w.abilityOf(ctx, s.WorkspaceID, s.reader); errors.Is(err, errNoAccess) {
		return errors.Join(w.revoke(ctx, &s, r.fence), errLost)
	}
	r.abilityAt = w.Clock.Now()
	return err
}

// launch sends a delivery, unless the reader of the subscription may not read the event.
func (r *runner) launch(ctx, sending context.Context, d *Delivery) error {
	w, s := r.hooks, r.s
	event := query.Read(bus.Event{Position: d.Position, WorkspaceID: d.workspaceID, Type: d.EventType, Body: d.body})
	if !r.ability.Decide(access.ActionRead, access.SubjectEvents, event).Allowed {
		return w.withhold(ctx, d, r.fence)
	}
	r.flying[d.ID] = true
	go func() { r.ended <- r.deliver(sending, s, d) }() // run waits for it
	return nil
}

// deliver makes an attempt and records it.
func (r *runner) deliver(ctx context.Context, s *Subscription, d *Delivery) ended {
	w := r.hooks
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return ended{id: d.ID, err: ctx.Err()}
	}
	defer func() { <-w.slots }()
	if r.expired(w.Settings.Timeout) { // somebody else may send it before this could end
		return ended{id: d.ID, err: errLost}
	}
	a := w.send(ctx, s, d)
	failpoint.At("webhooks.sent")
	if ctx.Err() != nil { // the process stops: what an attempt that was cut short means, nobody knows
		return ended{id: d.ID, err: ctx.Err()}
	}
	err := w.record(ctx, s, d, a, r.fence)
	failpoint.At("webhooks.recorded")
	if err != nil && !errors.Is(err, errLost) {
		w.Log.WarnContext(ctx, "what came of a delivery could not be recorded; it is sent again", "delivery_id", d.ID, "error", err.Error())
	}
	return ended{id: d.ID, err: err}
}

// expired tells whether the lease ends before something that takes so long could.
func (r *runner) expired(need time.Duration) bool {
	return r.hooks.Clock.Now().Add(need).UnixMilli() >= r.until.Load()
}
