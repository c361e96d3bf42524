package latectx_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"atelier/internal/latectx"
)

type key struct{}

var errWhy = errors.New("why")

// makers are the ways to make a context that this package and package context have in common.
func makers(timeout time.Duration) map[string][2]func(context.Context) (context.Context, context.CancelFunc) {
	return map[string][2]func(context.Context) (context.Context, context.CancelFunc){
		"cancel": {latectx.WithCancel, context.WithCancel},
		"timeout": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return latectx.WithTimeout(ctx, timeout)
			},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, timeout)
			},
		},
	}
}

// Whatever happens to a context, and whether or not somebody waits for its end before: it says what one of package context says.
func TestLikeContext(t *testing.T) {
	t.Parallel()
	type acts struct{ cancel, cancelParent func() }
	for what, do := range map[string]func(acts){
		"nothing":              func(acts) {},
		"it is cancelled":      func(a acts) { a.cancel() },
		"its parent is":        func(a acts) { a.cancelParent() },
		"its parent is, first": func(a acts) { a.cancelParent(); a.cancel() },
		"its parent is, later": func(a acts) { a.cancel(); a.cancelParent() },
	} {
		for _, timeout := range []time.Duration{-time.Second, time.Hour} {
			for kind, pair := range makers(timeout) {
				for _, waits := range []bool{false, true} {
					var said [2][]any
					for i, with := range pair {
						parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
						ctx, cancel := with(parent)
						if waits {
							ctx.Done()
						}
						do(acts{cancel: cancel, cancelParent: func() { cancelParent(errWhy) }})
						_, limited := ctx.Deadline()
						said[i] = []any{ctx.Err(), context.Cause(ctx), ctx.Value(key{}), limited, closed(ctx), context.Cause(child(ctx)), ctx.Err()}
						cancel()
						said[i] = append(said[i], ctx.Err(), context.Cause(ctx), closed(ctx))
						cancelParent(nil)
					}
					for i := range said[0] {
						if said[0][i] != said[1][i] {
							t.Errorf("%s, %s after %v, awaited %v: %v, want %v", what, kind, timeout, waits, said[0], said[1])
							break
						}
					}
				}
			}
		}
	}
}

func closed(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// child is a context made from another; it ends with that.
func child(ctx context.Context) context.Context {
	c, cancel := context.WithCancel(ctx)
	defer cancel()
	if ctx.Err() == nil {
		context.AfterFunc(c, func() {})
		return context.Background()
	}
	return c
}

// The deadline is the earlier one.
func TestDeadline(t *testing.T) {
	t.Parallel()
	soon, cancelSoon := latectx.WithTimeout(t.Context(), time.Minute)
	defer cancelSoon()
	want, _ := soon.Deadline()
	for _, timeout := range []time.Duration{time.Second, time.Hour} {
		ctx, cancel := latectx.WithTimeout(soon, timeout)
		defer cancel()
		if got, ok := ctx.Deadline(); !ok || got.After(want) || (timeout == time.Hour) != got.Equal(want) {
			t.Errorf("%v, beside %v", got, want)
		}
	}
}

// Whoever waits wakes up at the end, however it comes about, and whenever the wait begins.
func TestEndsForAll(t *testing.T) {
	t.Parallel()
	for kind, pair := range makers(time.Hour) {
		for range 200 {
			ctx, cancel := pair[0](t.Context())
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					<-ctx.Done()
					if !errors.Is(ctx.Err(), context.Canceled) {
						t.Errorf("%s: %v", kind, ctx.Err())
					}
				})
			}
			all.Go(cancel)
			all.Wait()
		}
	}
}

// One that is over before anybody waits for it costs one piece of memory.
func TestCost(t *testing.T) {
	parent, cancelParent := context.WithCancel(t.Context())
	defer cancelParent()
	allocations := testing.AllocsPerRun(100, func() {
		ctx, cancel := latectx.WithTimeout(parent, time.Hour)
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		cancel()
	})
	if allocations > 2 {
		t.Errorf("%v allocations", allocations)
	}
}
