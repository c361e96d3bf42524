package kvtest

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"atelier/internal/kv"
)

// slack is how much time may pass unnoticed within a test on a store with a clock of its own.
const slack = 30 * time.Second

func (s suite) limits(t *testing.T) {
	t.Run("the burst is allowed, then refused", s.burst)
	t.Run("no burst means the count", func(t *testing.T) {
		f := s.store(t)
		limit := kv.Limit{Count: 2, Period: long}
		f.yes(f.take("key", limit).Allowed, "the first unit")
		f.yes(f.take("key", limit).Allowed, "the second unit")
		f.no(f.take("key", limit).Allowed, "the third unit")
	})
	t.Run("units come back one by one", s.refill)
	t.Run("the burst comes back as a whole", s.reset)
	t.Run("being refused costs nothing", func(t *testing.T) {
		f := s.store(t)
		limit := kv.Limit{Count: 1, Period: long}
		f.take("key", limit)
		first := f.take("key", limit)
		for range 50 {
			f.no(f.take("key", limit).Allowed, "a unit that is not there")
		}
		if last := f.take("key", limit); last.RetryAfter > first.RetryAfter || last.ResetAfter > first.ResetAfter {
			t.Fatalf("asking made it worse: first %+v, last %+v", first, last)
		}
	})
	t.Run("keys, values and limits do not touch", func(t *testing.T) {
		f := s.store(t)
		limit := kv.Limit{Count: 1, Period: long}
		f.yes(f.take("one", limit).Allowed, "a unit of one")
		f.yes(f.take("two", limit).Allowed, "a unit of two")
		f.lacks("one")
		f.yes(f.add("one", "value", long), "add beside a limit")
		f.no(f.take("one", limit).Allowed, "a second unit of one")
		f.holds("one", "value")
		f.must(f.Delete(f.t.Context(), "one"))
		f.yes(f.take("one", limit).Allowed, "a unit after delete")
		f.no(f.take("two", limit).Allowed, "a second unit of two")
	})
	t.Run("a limit must make sense", s.senseless)
}

func (s suite) burst(t *testing.T) {
	f := s.store(t)
	limit := kv.Limit{Count: 6, Period: 6 * long, Burst: 4}
	for taken := 1; taken <= limit.Burst; taken++ {
		got := f.take("key", limit)
		wantAbout(t, fmt.Sprintf("unit %d", taken), got, kv.Decision{
			Allowed: true, Limit: limit.Burst, Remaining: limit.Burst - taken, ResetAfter: time.Duration(taken) * long,
		})
		if got.RetryAfter != 0 {
			t.Fatalf("unit %d was allowed, yet to wait %v", taken, got.RetryAfter)
		}
	}
	wantAbout(t, "one unit too many", f.take("key", limit), kv.Decision{
		Limit: limit.Burst, RetryAfter: long, ResetAfter: 4 * long,
	})
}

// refill works with a short interval; on a store with a clock of its own a unit may come back while others are taken, so
// the burst is used up until one is refused.
func (s suite) refill(t *testing.T) {
	f := s.store(t)
	limit := kv.Limit{Count: 1, Period: 4 * short, Burst: 3}
	for range 2 {
		refused := f.useUp("key", limit)
		if refused.RetryAfter <= 0 || refused.RetryAfter > limit.Period {
			t.Fatalf("retry after %v, want more than nothing and at most %v", refused.RetryAfter, limit.Period)
		}
		s.advance(refused.RetryAfter)
		Eventually(t, "a unit comes back", func() bool { return f.take("key", limit).Allowed })
	}
}

func (s suite) reset(t *testing.T) {
	f := s.store(t)
	limit := kv.Limit{Count: 5, Period: 5 * short}
	s.advance(f.useUp("key", limit).ResetAfter)
	Eventually(t, "the burst comes back", func() bool {
		got := f.take("key", limit)
		if got.Allowed && got.Remaining == limit.Count-1 {
			return true
		}
		s.advance(got.ResetAfter)
		return false
	})
}

func (f fixture) useUp(key string, limit kv.Limit) kv.Decision {
	f.t.Helper()
	for range 10_000 {
		if decision := f.take(key, limit); !decision.Allowed {
			return decision
		}
	}
	f.t.Fatal("the limit never ends")
	return kv.Decision{}
}

func (s suite) senseless(t *testing.T) {
	f := s.store(t)
	for _, limit := range []kv.Limit{
		{},
		{Count: 1},
		{Period: long},
		{Count: -1, Period: long},
		{Count: -1, Period: long, Burst: 1},
		{Count: 1, Period: -long},
		{Count: 1, Period: long, Burst: -1},
		{Count: 1, Period: math.MaxInt64},
		{Count: 1, Period: long, Burst: math.MaxInt},
	} {
		decision, err := f.Take(f.t.Context(), "key", limit)
		if !errors.Is(err, kv.ErrLimit) || decision.Allowed {
			t.Errorf("%+v: %+v, %v", limit, decision, err)
		}
	}
	for _, limit := range []kv.Limit{
		{Count: math.MaxInt32, Period: time.Nanosecond},
		{Count: 1, Period: 99 * 365 * 24 * time.Hour},
	} {
		f.yes(f.take(fmt.Sprint(limit.Count), limit).Allowed, fmt.Sprintf("%+v", limit))
	}
}

// wantAbout compares a decision; the durations may be a little shorter, because time may have passed.
func wantAbout(t *testing.T, what string, got, want kv.Decision) {
	t.Helper()
	about := func(got, want time.Duration) bool { return got <= want && got >= want-slack }
	if got.Allowed != want.Allowed || got.Limit != want.Limit || got.Remaining != want.Remaining ||
		(want.RetryAfter != 0 && !about(got.RetryAfter, want.RetryAfter)) || !about(got.ResetAfter, want.ResetAfter) {
		t.Fatalf("%s: got %+v, want about %+v", what, got, want)
	}
}
