package kv_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"atelier/internal/kv"
	"atelier/internal/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const now = int64(1_800_000_000_000_000) // microseconds; early in 2027

func TestGCRA(t *testing.T) {
	t.Parallel()
	limit := kv.Limit{Count: 2, Period: 2 * time.Second, Burst: 3} // an interval of one second
	const second = int64(time.Second / time.Microsecond)
	for _, test := range []struct {
		name         string
		stored, next int64
		want         kv.Decision
	}{
		{"nothing stored", 0, now + second, kv.Decision{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second}},
		{"long ago", now - 100*second, now + second, kv.Decision{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second}},
		{"just free", now, now + second, kv.Decision{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second}},
		{"partly back", now + second/2, now + 3*second/2, kv.Decision{Allowed: true, Limit: 3, Remaining: 1, ResetAfter: 1500 * time.Millisecond}},
		{"the last unit", now + 2*second, now + 3*second, kv.Decision{Allowed: true, Limit: 3, ResetAfter: 3 * time.Second}},
		{"a microsecond early", now + 2*second + 1, now + 2*second + 1, kv.Decision{Limit: 3, RetryAfter: time.Microsecond, ResetAfter: 2*time.Second + time.Microsecond}},
		{"used up", now + 3*second, now + 3*second, kv.Decision{Limit: 3, RetryAfter: time.Second, ResetAfter: 3 * time.Second}},
		{"written by a faster clock", now + 13*second, now + 13*second, kv.Decision{Limit: 3, RetryAfter: 11 * time.Second, ResetAfter: 13 * time.Second}},
		{"written before the clock was set back", now + 3600*second, now + 3*second, kv.Decision{Limit: 3, RetryAfter: time.Second, ResetAfter: 3 * time.Second}},
		{"nonsense", math.MaxInt64, now + 3*second, kv.Decision{Limit: 3, RetryAfter: time.Second, ResetAfter: 3 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			next, got, err := kv.GCRA(limit, test.stored, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || next != test.next {
				t.Errorf("next %d, want %d; decision (-want +got):\n%s", next-now, test.next-now, diff)
			}
		})
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit           kv.Limit
		interval, burst int64
		err             error
	}{
		{kv.Limit{Count: 60, Period: time.Minute}, 1_000_000, 60, nil},
		{kv.Limit{Count: 3, Period: time.Second, Burst: 1}, 333_334, 1, nil},
		{kv.Limit{Count: 600_000, Period: time.Second}, 2, 600_000, nil},
		{kv.Limit{Count: math.MaxInt32, Period: time.Nanosecond, Burst: 9}, 1, 9, nil},
		{kv.Limit{Count: math.MaxInt, Period: time.Second}, 0, 0, kv.ErrLimit},
		{kv.Limit{Count: 1, Period: 24 * time.Hour, Burst: 36_500}, 86_400_000_000, 36_500, nil},
		{kv.Limit{Count: 1, Period: 24 * time.Hour, Burst: 36_501}, 0, 0, kv.ErrLimit},
		{kv.Limit{Count: 0, Period: time.Second, Burst: 1}, 0, 0, kv.ErrLimit},
	} {
		interval, burst, err := test.limit.Interval()
		if interval != test.interval || burst != test.burst || !errors.Is(err, test.err) {
			t.Errorf("%+v: %d, %d, %v", test.limit, interval, burst, err)
		}
	}
}

func TestGCRAAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := kvtest.Limits().Draw(t, "limit")
		interval := kvtest.Interval(limit)
		at, stored, bucket := time.UnixMicro(now), int64(0), kvtest.Bucket{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(2*interval)).Draw(t, "wait")).Truncate(time.Microsecond))
			next, got, err := kv.GCRA(limit, stored, at.UnixMicro())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(bucket.Take(limit, at), got); diff != "" {
				t.Fatalf("(-model +GCRA):\n%s", diff)
			}
			stored = next
		}
	})
}

// However the clocks of two instances differ within the skew, together they let through what the limit says, counted on
// the faster clock, and asking in vain gives nothing back.
func TestGCRAWithClocksThatDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := kvtest.Limits().Draw(t, "limit")
		interval, burst, err := limit.Interval()
		if err != nil {
			t.Fatal(err)
		}
		behind := rapid.Int64Range(0, int64(time.Minute/time.Microsecond)).Draw(t, "behind")
		at, stored, allowed := now, int64(0), int64(0)
		for range 200 {
			at += rapid.Int64Range(0, interval/4).Draw(t, "wait")
			clock := at
			if rapid.Bool().Draw(t, "slow clock") {
				clock -= behind
			}
			next, decision, err := kv.GCRA(limit, stored, clock)
			if err != nil {
				t.Fatal(err)
			}
			if decision.Allowed {
				allowed++
			}
			stored = next
		}
		if most := burst + (at-now+behind)/interval; allowed > most {
			t.Fatalf("%d units allowed, at most %d promised", allowed, most)
		}
	})
}

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]int64{
		1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, math.MaxInt64: math.MaxInt64/1_000_000 + 1,
	} {
		if got := kv.RoundUp(ttl, time.Millisecond); got != want {
			t.Errorf("%v is %d ms, want %d", ttl, got, want)
		}
	}
}
