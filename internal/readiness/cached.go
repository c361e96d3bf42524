package readiness

import (
	"context"
	"sync"
	"time"

	"atelier/internal/clock"
)

// Cached keeps a value for a while. When it is too old one caller makes it anew, and the others wait for that.
type Cached[T any] struct {
	clock clock.Clock
	ttl   time.Duration
	make  func(ctx context.Context) T

	mu      sync.Mutex
	value   T
	until   time.Time
	running chan struct{} // closed when the refresh under way is done
}

// NewCached returns an empty cache over make.
func NewCached[T any](clk clock.Clock, ttl time.Duration, make func(ctx context.Context) T) *Cached[T] {
	return &Cached[T]{clock: clk, ttl: ttl, make: make}
}

// Get gives the value; an error only when ctx ends while waiting.
func (c *Cached[T]) Get(ctx context.Context) (T, error) {
	for {
		c.mu.Lock()
		if c.clock.Now().Before(c.until) {
			defer c.mu.Unlock()
			return c.value, nil
		}
		running := c.running
		if running == nil {
			c.running = make(chan struct{})
			c.mu.Unlock()
			return c.refresh(ctx), nil
		}
		c.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

func (c *Cached[T]) refresh(ctx context.Context) (value T) {
	defer func() { // also when make panics: the others must not wait for ever
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.running)
		c.running = nil
	}()
	value = c.make(context.WithoutCancel(ctx)) // the others need it even when this caller leaves
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.until = value, c.clock.Now().Add(c.ttl)
	return value
}
