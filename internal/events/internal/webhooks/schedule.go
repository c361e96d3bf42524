package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// schedule is how long after an attempt that failed the next one follows: ten attempts over 75 hours and 35 minutes. Up to a
// tenth is added to each, so that what failed together does not come back together.
func schedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

const (
	jitterShare = 10
	// maxRetryAfter is how long an endpoint may ask to be left alone.
	maxRetryAfter = 24 * time.Hour
	// After so many failures in a row an endpoint is paused; then one delivery at a time looks whether it works again.
	breakAfter = 5
	firstPause = 30 * time.Second
	maxPause   = 10 * time.Minute
	// An endpoint that has done nothing but fail for disableAfter is disabled with the first dead letter, and for giveUpAfter
	// in any case: longer than any schedule lasts.
	disableAfter = 3 * 24 * time.Hour
	giveUpAfter  = 84 * time.Hour
)

// jittered adds up to a tenth.
func jittered(d time.Duration) time.Duration {
	return d + rand.N(d/jitterShare+1) //nolint:gosec // spreads load, keeps no secret
}

// health is how an endpoint is doing.
type health struct {
	failures     int
	failingSince time.Time
	retryAt      time.Time
}

// verdict is what an attempt means for its delivery and for the endpoint.
type verdict struct {
	health

	// state is that of the delivery, with when it is due while it is pending.
	state, reason string
	dueAt         time.Time
	// disable is why the subscription ends; empty when it does not.
	disable string
}

// judge decides what follows an attempt, of which tries were made in this round, this one included.
func judge(a *Attempt, tries int, h health, now time.Time) verdict {
	if a.Outcome == OutcomeDelivered {
		return verdict{state: Delivered}
	}
	v := verdict{health: h, state: Pending}
	v.failures++
	if v.failingSince.IsZero() {
		v.failingSince = now
	}
	if v.failures >= breakAfter {
		pause := firstPause
		for i := breakAfter; i < v.failures && pause < maxPause; i++ {
			pause *= 2
		}
		v.retryAt = now.Add(min(pause, maxPause))
	}
	failing := now.Sub(v.failingSince)
	delays := schedule()
	if tries > len(delays) {
		v.state, v.reason = Failed, "the last attempt failed"
	} else {
		v.dueAt = now.Add(jittered(delays[tries-1]))
	}
	if a.retryAfter > 0 {
		until := now.Add(min(a.retryAfter, maxRetryAfter))
		v.retryAt = later(v.retryAt, until)
		if v.state == Pending {
			v.dueAt = later(v.dueAt, until)
		}
	}
	switch {
	case a.Outcome == OutcomeGone:
		v.state, v.reason, v.disable = Failed, "the endpoint is gone", ReasonGone
	case failing >= giveUpAfter, failing >= disableAfter && v.state == Failed:
		v.disable = ReasonFailing
	}
	return v
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// retryAfter reads how long an endpoint asks to be left alone, in seconds or until a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
