package kvtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atelier/internal/clock"
	"atelier/internal/kv"
)

// Agree checks that a limiter decides as the model does, whatever the limit and whenever it is asked. Take is the limiter;
// clk is its clock.
func Agree(t *testing.T, clk *clock.Manual, take func(ctx context.Context, key string, limit kv.Limit) (kv.Decision, error)) {
	t.Helper()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		limit := Limits().Draw(rt, "limit")
		buckets := make(map[string]*Bucket)
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			clk.Advance(steps(limit).Draw(rt, fmt.Sprint("wait ", i)))
			key := fmt.Sprint("run ", run, " key ", rapid.IntRange(1, 2).Draw(rt, fmt.Sprint("key ", i)))
			if buckets[key] == nil {
				buckets[key] = &Bucket{}
			}
			got, err := take(t.Context(), key, limit)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(buckets[key].Take(limit, clk.Now()), got); diff != "" {
				rt.Fatalf("step %d on %q with %+v (-model +limiter):\n%s", i, key, limit, diff)
			}
		}
	})
}

// Limits are the limits worth trying: slow and fast, with intervals that do not divide evenly, with any burst.
func Limits() *rapid.Generator[kv.Limit] {
	return rapid.Custom(func(t *rapid.T) kv.Limit {
		return kv.Limit{
			Count:  rapid.IntRange(1, 50).Draw(t, "count"),
			Period: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "period")),
			Burst:  rapid.IntRange(0, 5).Draw(t, "burst"),
		}
	})
}

// steps are the waits worth trying: none, a part of the interval, exactly the interval, more than the whole burst.
func steps(limit kv.Limit) *rapid.Generator[time.Duration] {
	interval := Interval(limit)
	return rapid.OneOf(
		rapid.Just(time.Duration(0)),
		rapid.Just(interval),
		rapid.Just(interval-time.Microsecond),
		rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(8*interval)).Draw(t, "wait")).Truncate(time.Microsecond)
		}),
	)
}

// Bucket is the model: a leaky bucket told as a story. Every unit taken pours one interval of debt into it, the debt runs
// out as time passes, and a unit is allowed when its debt still fits.
type Bucket struct {
	debt time.Duration
	last time.Time
}

// Take asks for one unit at a time not before the last one.
func (b *Bucket) Take(limit kv.Limit, now time.Time) kv.Decision {
	interval, burst := Interval(limit), limit.Burst
	if burst == 0 {
		burst = limit.Count
	}
	b.debt = max(0, b.debt-now.Sub(b.last))
	b.last = now
	room := time.Duration(burst)*interval - b.debt
	if room < interval {
		return kv.Decision{Limit: burst, RetryAfter: interval - room, ResetAfter: b.debt}
	}
	b.debt += interval
	return kv.Decision{Allowed: true, Limit: burst, Remaining: int(room/interval) - 1, ResetAfter: b.debt}
}

// Interval is the period divided by the count, rounded up to a microsecond.
func Interval(limit kv.Limit) time.Duration {
	const unit = time.Microsecond
	part := time.Duration(limit.Count) * unit
	return (limit.Period + part - 1) / part * unit
}
