package limits

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"atelier/internal/clock"
	"atelier/internal/kv"
)

const (
	// patience is how long a call waits for a store on the network before it goes on without it.
	patience = 100 * time.Millisecond
	// ownPatience is how long it waits for one in the database, which the call needs anyway.
	ownPatience = 2 * time.Second
	// rest is how long a store that failed is left alone.
	rest = time.Second
)

var errResting = errors.New("the store failed a moment ago and is left alone")

// patient is a store that is not waited for: it answers soon, or is left alone for a while, so that its failure costs calls
// neither their answer nor their time.
type patient struct {
	store kv.Store
	clock clock.Clock
	log   *slog.Logger
	// until is when the store is asked again, in microseconds.
	until   atomic.Int64
	failing atomic.Bool
}

func (p *patient) patience() time.Duration {
	if p.store.Driver() == "redis" {
		return patience
	}
	return ownPatience
}

// get gives the value, or nothing.
func (p *patient) get(ctx context.Context, key string) (value []byte, err error) {
	err = p.try(ctx, func(ctx context.Context) error {
		value, err = p.store.Get(ctx, key)
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	return value, err
}

func (p *patient) set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return p.try(ctx, func(ctx context.Context) error { return p.store.Set(ctx, key, value, ttl) })
}

func (p *patient) remove(ctx context.Context, key string) error {
	return p.try(ctx, func(ctx context.Context) error { return p.store.Delete(ctx, key) })
}

// replace stores value when old is still what is there; nothing there is an old of nil.
func (p *patient) replace(ctx context.Context, key string, old, value []byte, ttl time.Duration) (done bool, err error) {
	err = p.try(ctx, func(ctx context.Context) error {
		if old == nil {
			done, err = p.store.Add(ctx, key, value, ttl)
		} else {
			done, err = p.store.Swap(ctx, key, old, value, ttl)
		}
		return err
	})
	return done, err
}

// update replaces the value by what next makes of it, again when somebody was faster. next may ask for nothing to be done
// by giving a lifetime of zero.
func (p *patient) update(ctx context.Context, key string, next func(old []byte) (value []byte, ttl time.Duration)) error {
	const attempts = 8
	for range attempts {
		old, err := p.get(ctx, key)
		if err != nil {
			return err
		}
		value, ttl := next(old)
		if ttl <= 0 {
			return nil
		}
		if done, err := p.replace(ctx, key, old, value, ttl); err != nil || done {
			return err
		}
	}
	return errors.New("others keep changing the value")
}

func (p *patient) try(ctx context.Context, work func(context.Context) error) error {
	if p.clock.Now().UnixMicro() < p.until.Load() {
		return errResting
	}
	bounded, cancel := context.WithTimeout(ctx, p.patience())
	err := work(bounded)
	cancel()
	if err == nil {
		if p.failing.CompareAndSwap(true, false) {
			p.log.InfoContext(ctx, "the store of quotas and lockouts is back")
		}
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // the caller has left; that says nothing about the store
	}
	p.until.Store(p.clock.Now().Add(rest).UnixMicro())
	if p.failing.CompareAndSwap(false, true) {
		p.log.WarnContext(ctx, "the store of quotas and lockouts does not answer; calls go on without it", "error", err.Error())
	}
	return err
}
