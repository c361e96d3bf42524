// Package memkv keeps short-lived state in the memory of one process. It is for a single process: nothing is shared, and
// a restart forgets everything.
package memkv

import (
	"context"
	"hash/maphash"
	"time"

	"atelier/internal/clock"
	"atelier/internal/kv"
)

// shards is how many parts of the store can be written at the same time; a power of two.
const shards = 64

// Store is the store of one process. It has no goroutine: writes sweep what has expired.
type Store struct {
	clock  clock.Clock
	seed   maphash.Seed
	shards [shards]shard
}

// New returns an empty store.
func New(clk clock.Clock) *Store {
	return &Store{clock: clk, seed: maphash.MakeSeed()}
}

// Driver is memory.
func (s *Store) Driver() string { return "memory" }

// Get returns a copy of the value, or kv.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := check(ctx, kv.CheckKeys(key)); err != nil {
		return nil, err
	}
	value, ok := s.shard(key).get(key, s.now())
	if !ok {
		return nil, kv.ErrNotFound
	}
	return value, nil
}

// Set stores a copy of the value for ttl.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.store(ctx, key, value, ttl, func(string, bool) bool { return true })
	return err
}

// Add stores a copy of the value when the key is absent.
func (s *Store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return s.store(ctx, key, value, ttl, func(_ string, present bool) bool { return !present })
}

// Swap replaces old by a copy of value when old is what is stored.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	return s.store(ctx, key, value, ttl, func(current string, present bool) bool { return present && current == string(old) })
}

func (s *Store) store(ctx context.Context, key string, value []byte, ttl time.Duration, when func(string, bool) bool) (bool, error) {
	if err := check(ctx, kv.CheckWrite(key, ttl)); err != nil {
		return false, err
	}
	now := s.now()
	expires := now + kv.RoundUp(ttl, time.Microsecond)
	return s.shard(key).store(key, entry{value: string(value), expires: expires}, now, when), nil
}

// Delete removes the keys.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	if err := check(ctx, kv.CheckKeys(keys...)); err != nil {
		return err
	}
	for _, key := range keys {
		s.shard(key).remove(key)
	}
	return nil
}

// Take asks for one unit of the limit kept under key.
func (s *Store) Take(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error) {
	if err := check(ctx, kv.CheckKeys(key)); err != nil {
		return kv.Decision{}, err
	}
	return s.shard(key).take(key, limit, s.now())
}

// Ping looks at the context only: there is nowhere to go.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

// Close forgets everything.
func (s *Store) Close() error {
	for i := range s.shards {
		s.shards[i].clear()
	}
	return nil
}

// Len counts what is held, expired or not, values and limits; for metrics.
func (s *Store) Len() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].len()
	}
	return n
}

func (s *Store) shard(key string) *shard {
	return &s.shards[maphash.String(s.seed, key)%shards]
}

func (s *Store) now() int64 { return s.clock.Now().UnixMicro() }

// check lets a cancelled context win, as it would in a store at the other end of a network.
func check(ctx context.Context, invalid error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return invalid
}

var _ kv.Store = (*Store)(nil)
