// Package rediskv keeps short-lived state in Redis, or what speaks like it: one store for every process of a cluster.
// Its time is the time of the server. Every failure is errs.Unavailable, unless the context ended first.
package rediskv

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"atelier/internal/kv"
)

// Store is the store on a server.
type Store struct {
	client   rueidis.Client
	prefix   string
	password string // only to keep it out of errors
	scripts  scripts
	flights  chan struct{}
}

// Driver is redis.
func (s *Store) Driver() string { return "redis" }

// Get returns the value, or kv.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := kv.CheckKeys(key); err != nil {
		return nil, err
	}
	result, err := s.do(ctx, s.client.B().Get().Key(s.value(key)).Build())
	if rueidis.IsRedisNil(err) {
		return nil, kv.ErrNotFound
	}
	if err != nil {
		return nil, s.failed(ctx, "get", err)
	}
	value, err := result.AsBytes()
	return value, s.failed(ctx, "get", err)
}

// Set stores the value for ttl.
func (s *Store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return err
	}
	// The value is copied here and below: the command may still be on its way when the caller has left.
	_, err := s.do(ctx, s.client.B().Set().Key(s.value(key)).Value(string(value)).PxMilliseconds(millis(ttl)).Build())
	return s.failed(ctx, "set", err)
}

// Add stores the value when the key is absent.
func (s *Store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return false, err
	}
	_, err := s.do(ctx, s.client.B().Set().Key(s.value(key)).Value(string(value)).Nx().PxMilliseconds(millis(ttl)).Build())
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, s.failed(ctx, "add", err)
}

// Swap replaces old by value.
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if err := kv.CheckWrite(key, ttl); err != nil {
		return false, err
	}
	result, err := s.run(ctx, s.scripts.swap, s.value(key), string(old), string(value), strconv.FormatInt(millis(ttl), 10))
	if err != nil {
		return false, s.failed(ctx, "swap", err)
	}
	swapped, err := result.AsInt64()
	return swapped == 1, s.failed(ctx, "swap", err)
}

// Delete removes the keys; on a cluster they may be on different nodes, so it is not one step.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	if err := kv.CheckKeys(keys...); err != nil {
		return err
	}
	if len(keys) == 0 {
		return s.failed(ctx, "delete", ctx.Err())
	}
	names := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		names = append(names, s.value(key), s.limit(key))
	}
	_, err := s.call(ctx, func(ctx context.Context) rueidis.RedisResult {
		var failures []error
		for _, err := range rueidis.MDel(s.client, ctx, names) {
			failures = append(failures, err)
		}
		return rueidis.NewErrorResult(errors.Join(failures...))
	})
	return s.failed(ctx, "delete", err)
}

// Take asks for one unit of the limit kept under key.
func (s *Store) Take(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error) {
	if err := kv.CheckKeys(key); err != nil {
		return kv.Decision{}, err
	}
	interval, burst, err := limit.Interval()
	if err != nil {
		return kv.Decision{}, err
	}
	result, err := s.run(ctx, s.scripts.take, s.limit(key), strconv.FormatInt(interval, 10), strconv.FormatInt(burst, 10))
	if err != nil {
		return kv.Decision{}, s.failed(ctx, "take", err)
	}
	answer, err := result.AsIntSlice()
	if err == nil && len(answer) != 4 {
		err = errors.New("the script gave an answer of another shape")
	}
	if err != nil {
		return kv.Decision{}, s.failed(ctx, "take", err)
	}
	return kv.Decision{
		Allowed:    answer[0] == 1,
		Limit:      int(burst),
		Remaining:  int(answer[1]),
		RetryAfter: time.Duration(answer[2]) * time.Microsecond,
		ResetAfter: time.Duration(answer[3]) * time.Microsecond,
	}, nil
}

// Ping makes a round trip to the server.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.do(ctx, s.client.B().Ping().Build())
	return s.failed(ctx, "ping", err)
}

// Close ends the connections.
func (s *Store) Close() error {
	s.client.Close()
	return nil
}

// value and limit keep the two kinds under a key apart.
func (s *Store) value(key string) string { return s.prefix + "v:" + key }
func (s *Store) limit(key string) string { return s.prefix + "l:" + key }

func millis(ttl time.Duration) int64 { return kv.RoundUp(ttl, time.Millisecond) }

var _ kv.Store = (*Store)(nil)
