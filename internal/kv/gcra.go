package kv

import (
	"errors"
	"time"
)

// ErrLimit says that a limit makes no sense: a count or a period that is not positive, a negative burst, or a burst that
// takes more than a century to come back.
var ErrLimit = errors.New("kv: a limit needs a positive count and period, and a burst that comes back within a century")

const (
	// century, in microseconds, bounds the arithmetic: a time of this era plus a century is still a whole number in the
	// floating-point numbers of the Lua twin.
	century = int64(100 * 365 * 24 * time.Hour / time.Microsecond)
	// skew is how far the clocks of two instances may differ, in microseconds.
	skew = int64(time.Minute / time.Microsecond)
)

// Interval is the time after which one unit comes back, in microseconds, and how many units may come at once. It is
// rounded up, so that rounding never lets more through than the limit says. A senseless limit gives ErrLimit.
func (l Limit) Interval() (micros, burst int64, err error) {
	burst = int64(l.Burst)
	if burst == 0 {
		burst = int64(l.Count)
	}
	if l.Count <= 0 || l.Period <= 0 || burst <= 0 {
		return 0, 0, ErrLimit
	}
	micros = ceilDiv(ceilDiv(int64(l.Period), int64(l.Count)), int64(time.Microsecond))
	if micros > century/burst {
		return 0, 0, ErrLimit
	}
	return micros, burst, nil
}

// GCRA is the generic cell rate algorithm. It takes the time stored under a key, zero when there is none, and the time
// now, both in microseconds, and gives the time to store instead and the answer. The stored time is when the whole burst
// is free again: once it has passed, the key may be forgotten. An unchanged time need not be written.
//
// rediskv/lua/gcra.lua is its twin; a test holds them together.
func GCRA(limit Limit, stored, now int64) (int64, Decision, error) {
	interval, burst, err := limit.Interval()
	if err != nil {
		return stored, Decision{}, err
	}
	full := interval * burst
	free := max(stored, now)
	if free > now+full+skew {
		// Only another limit or a clock that was set back explains this. Start again with nothing left, instead of refusing
		// until that time comes. Differences as between the clocks of two instances are left alone: cutting them off would
		// hand out the difference again and again.
		free = now + full
	}
	decision := Decision{Limit: int(burst)}
	if wait := free + interval - full - now; wait > 0 {
		decision.RetryAfter = microseconds(wait)
		decision.ResetAfter = microseconds(free - now)
		return free, decision, nil
	}
	free += interval
	decision.Allowed = true
	decision.Remaining = int((full - (free - now)) / interval)
	decision.ResetAfter = microseconds(free - now)
	return free, decision, nil
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
