package mail

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// lookEvery is how often the worker looks when nobody wakes it: for mails of other instances, and for those to be tried
	// again.
	lookEvery = 5 * time.Second
	// giveUpAfter is how long a mail is tried.
	giveUpAfter = 24 * time.Hour
	// firstDelay is the time to the second attempt. It doubles with every further one, up to lastDelay.
	firstDelay = 5 * time.Second
	lastDelay  = 30 * time.Minute
	// settleFor bounds noting what became of a mail when the worker is being stopped.
	settleFor = 5 * time.Second
)

// soon is when the worker looks after it was woken: the transaction that woke it may take its time.
func soon() []time.Duration {
	return []time.Duration{0, 20 * time.Millisecond, 80 * time.Millisecond, 300 * time.Millisecond, time.Second}
}

// Run sends what is in the outbox until ctx ends.
func (o *Outbox) Run(ctx context.Context) error {
	failing := false
	looks := soon()
	for ctx.Err() == nil {
		sent, err := o.round(ctx)
		switch {
		case ctx.Err() != nil:
			continue // being stopped is no failure
		case err != nil && !failing:
			o.deps.Log.WarnContext(ctx, "the outbox of mails cannot be read; the next look tries again", "error", err.Error())
		case sent > 0:
			continue // there may be more
		}
		failing = err != nil
		pause := lookEvery
		if len(looks) > 0 && !failing {
			pause, looks = looks[0], looks[1:]
		}
		if o.rest(ctx, pause) {
			looks = soon()
		}
	}
	return nil
}

// rest waits, and tells whether it was woken.
func (o *Outbox) rest(ctx context.Context, pause time.Duration) (woken bool) {
	timer := o.deps.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-o.wake:
		return true
	}
	return false
}

// round sends the mails whose time has come, a few at once, and waits for them.
func (o *Outbox) round(ctx context.Context) (claimed int, err error) {
	mails, err := o.claim(ctx)
	if err != nil {
		return 0, err
	}
	var group sync.WaitGroup
	for _, w := range mails {
		group.Go(func() { o.deliver(ctx, w) })
	}
	group.Wait()
	return len(mails), nil
}

// deliver sends one mail and notes what became of it.
func (o *Outbox) deliver(ctx context.Context, w waiting) {
	message, err := o.seal.open(w.id, w.sealed)
	if err != nil {
		err = errors.Join(ErrRejected, errors.New("it was sealed with another internal key"), err)
	} else {
		limited, cancel := context.WithTimeout(ctx, sendFor)
		err = o.deps.Sender.Send(limited, message)
		cancel()
	}
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	if err := o.settle(settling, w, err, ctx.Err() != nil); err != nil {
		o.deps.Log.WarnContext(ctx, "what became of a mail could not be noted; it may be sent again", "mail", w.id, "error", err.Error())
	}
}

// settle removes a mail that was sent or is given up, and gives another one back.
func (o *Outbox) settle(ctx context.Context, w waiting, failure error, stopping bool) error {
	age := o.deps.Clock.Now().Sub(w.created)
	switch {
	case failure == nil:
		return o.remove(ctx, w)
	case stopping:
		return o.postpone(ctx, w, 0)
	case errors.Is(failure, ErrRejected), errors.Is(failure, ErrInvalid), age >= giveUpAfter:
		o.deps.Log.WarnContext(ctx, "a mail could not be delivered and was given up", "mail", w.id, "attempts", w.attempts,
			"age", age.String(), "error", failure.Error())
		return o.remove(ctx, w)
	}
	delay := backoff(w.attempts)
	o.deps.Log.InfoContext(ctx, "a mail could not be delivered; it is tried again", "mail", w.id, "attempts", w.attempts,
		"next_attempt_in", delay.String(), "error", failure.Error())
	return o.postpone(ctx, w, delay)
}

// backoff is the time from an attempt to the next.
func backoff(attempts int) time.Duration {
	delay := firstDelay
	for range attempts - 1 {
		if delay *= 2; delay >= lastDelay {
			return lastDelay
		}
	}
	return delay
}
