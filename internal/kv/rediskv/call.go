package rediskv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"atelier/internal/errs"
)

// maxFlights bounds the calls on their way; more wait for their turn, as long as their context lets them.
const maxFlights = 4096

// call bounds a call by its context. The library alone does not: who finds the connection broken waits while another
// caller makes a new one. The command itself goes on without its caller, so that an impatient one neither cuts the
// connection that others use nor stops it from being made.
func (s *Store) call(ctx context.Context, send func(context.Context) rueidis.RedisResult) (rueidis.RedisResult, error) {
	if err := ctx.Err(); err != nil {
		return rueidis.RedisResult{}, err
	}
	select {
	case s.flights <- struct{}{}:
	case <-ctx.Done():
		return rueidis.RedisResult{}, ctx.Err()
	}
	answer := make(chan rueidis.RedisResult, 1)
	go func() {
		defer func() { <-s.flights }()
		answer <- send(context.WithoutCancel(ctx))
	}()
	select {
	case result := <-answer:
		return result, result.Error()
	case <-ctx.Done():
		return rueidis.RedisResult{}, ctx.Err()
	}
}

// do is call for one command.
func (s *Store) do(ctx context.Context, command rueidis.Completed) (rueidis.RedisResult, error) {
	return s.call(ctx, func(ctx context.Context) rueidis.RedisResult { return s.client.Do(ctx, command) })
}

// run is call for a script.
func (s *Store) run(ctx context.Context, script *rueidis.Lua, key string, args ...string) (rueidis.RedisResult, error) {
	return s.call(ctx, func(ctx context.Context) rueidis.RedisResult {
		return script.Exec(ctx, s.client, []string{key}, args)
	})
}

// failed says what was being done, and hides the cause from clients behind "unavailable".
func (s *Store) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("redis: %s: %w", doing, cause)
	}
	unavailable := errs.New(errs.Unavailable, "The key-value store cannot be reached right now; try again shortly.").
		WithRetryAfter(time.Second).Because(s.redacted(err))
	return fmt.Errorf("redis: %s: %w", doing, unavailable)
}

// redacted keeps the password out of logs: some servers repeat the command they did not understand.
func (s *Store) redacted(err error) error {
	if s.password == "" || !strings.Contains(err.Error(), s.password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), s.password, "***"))
}
