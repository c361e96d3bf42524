package keyring

import (
	"context"
	"errors"
	"time"
)

// Run keeps the ring in step with the database until ctx ends: it looks at least once a second, and at once after a change
// made in this process. A ring that makes keys makes the next one ahead of its turn and removes those that have expired.
func (r *Ring) Run(ctx context.Context) error {
	failing := false
	for {
		err := r.step(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to stop
		}
		if err != nil && !failing {
			r.deps.Log.WarnContext(ctx, "signing keys could not be kept up to date; trying again every second", "error", err.Error())
		}
		failing = err != nil
		if !r.pause(ctx) {
			return nil
		}
	}
}

func (r *Ring) pause(ctx context.Context) bool {
	timer := r.deps.Clock.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.changed:
	case <-timer.C():
	}
	return true
}

func (r *Ring) step(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	if r.deps.Makes {
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	return r.catchUp(ctx)
}

// keep makes the next key when it is time, then removes what has expired.
func (r *Ring) keep(ctx context.Context) error {
	for {
		newest := r.set.Load().newest()
		at, due := r.due(newest)
		if !due {
			return r.removeExpired(ctx, r.deps.Clock.Now())
		}
		if err := errors.Join(r.follow(ctx, newest, at), ctx.Err()); err != nil {
			return err
		}
		if made := r.set.Load().newest(); newest != nil && made != nil && made.kid == newest.kid {
			return errors.New("the next signing key could not be made") // rather than try again and again without a pause
		}
	}
}

// due tells when the key after the newest one takes over, and whether it is time to make it: two periods ahead at most, so
// that also short periods are kept to.
func (r *Ring) due(newest *entry) (at time.Time, due bool) {
	if newest == nil {
		return time.Time{}, true
	}
	every := r.deps.Settings.RotateEvery
	at = newest.rotates
	if sooner := newest.signs.Add(every); sooner.Before(at) { // the setting was shortened
		at = sooner
	}
	return at, !r.deps.Clock.Now().Before(at.Add(-min(longNotice, 2*every)))
}
