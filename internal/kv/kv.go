// Package kv is the contract for short-lived state: sessions, rate limits, one-time codes. Values are small and expire.
// What must never be lost belongs in sqldb.
package kv

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound says that a key is absent or has expired.
var ErrNotFound = errors.New("kv: no such key")

// Store keeps values under keys until they expire. Every write names its lifetime; there is no immortal key: one that is
// not positive is refused with ErrLifetime.
//
// A key is 1 to MaxKey bytes, any bytes; another one is refused with ErrKey. A value is any bytes, none included. Neither
// is shared with the caller after the call. A call ends with its context; what a write that was cut off did is unknown.
type Store interface {
	// Driver is the store as operators know it: memory, sql or redis.
	Driver() string
	// Get returns the value, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Set stores the value for ttl, replacing what was there.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error
	// Add stores the value only when the key is absent, and tells whether it did.
	Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	// Swap replaces old by value, and tells whether old was what was stored. Exactly one of many concurrent callers wins.
	Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error)
	// Delete removes the keys, their values and their limits; an absent key is not an error.
	Delete(ctx context.Context, keys ...string) error
	// Take asks for one unit of the limit kept under key. Being refused costs nothing. A limit and a value under the same
	// key do not touch each other. A limit that makes no sense is refused with ErrLimit.
	Take(ctx context.Context, key string, limit Limit) (Decision, error)
	// Ping makes a real round trip.
	Ping(ctx context.Context) error
	// Close releases what the store holds; closing twice does no harm.
	Close() error
}

// Limit is a rate: Count units per Period, of which up to Burst may come at once. The generic cell rate algorithm keeps
// one timestamp per key and has no window edge to exploit.
type Limit struct {
	Count  int
	Period time.Duration
	// Burst is at least 1; zero means Count.
	Burst int
}

// Decision is the answer to Take.
type Decision struct {
	Allowed bool
	// Limit and Remaining describe the burst that is left, for the response headers.
	Limit, Remaining int
	// RetryAfter is how long to wait before the next unit is free; zero when allowed.
	RetryAfter time.Duration
	// ResetAfter is how long until the whole burst is free again.
	ResetAfter time.Duration
}
