package limits

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/kv"
)

// Call is a request as the limits see it.
type Call struct {
	Method string
	// Path is the canonical one, beginning with /v2 where the call has a version.
	Path string
	// Header is that of the response: it tells the caller what is left, whether the call is admitted or not.
	Header http.Header
	// Stream tells that it goes on for as long as the caller listens: then it takes no place of those of other calls.
	Stream bool
}

// Admit lets a call through, or gives rate_limit_exceeded, quota_exceeded or concurrent_request_limit with the time to wait.
// release says that the call has ended; it is never nil, and calling it again does nothing. The installation's own services
// are not limited.
//
// It costs one trip to the limiter: about a microsecond in memory, a round trip to Redis where instances share their limits.
func (l *Limits) Admit(ctx context.Context, p access.Principal, call Call) (release func(), err error) {
	if l.deps.Config.DisableRateLimit || p.Kind == access.Internal {
		return func() {}, nil
	}
	info := httpx.InfoFrom(ctx)
	c := l.callerOf(p, info)
	release, err = l.enter(c, call.Stream)
	if err != nil {
		return func() {}, err
	}
	if err := l.count(ctx, c, l.bucketOf(c, info, call), call.Header); err != nil {
		release()
		return func() {}, err
	}
	return release, nil
}

// enter takes one of the caller's places for calls, or for streams, at the same time.
func (l *Limits) enter(c caller, stream bool) (leave func(), err error) {
	places, most, what := &l.running, c.concurrent, "requests"
	if stream {
		places, most, what = &l.streams, c.streams, "live feeds"
	}
	leave, ok := places.enter(c.key, most)
	if !ok {
		return nil, errs.Newf(errs.ConcurrentRequestLimit, "At most %d %s may run at the same time; wait for one to end.", most, what).WithRetryAfter(time.Second)
	}
	return leave, nil
}

// count takes the call from the rate and from the day's quota. What the rate refuses costs nothing of the quota.
func (l *Limits) count(ctx context.Context, c caller, b bucket, h http.Header) error {
	decision := l.take(ctx, b.key, b.limit)
	l.describe(h, b, decision)
	if !decision.Allowed {
		return errs.Newf(errs.RateLimitExceeded, "At most %d such requests per minute are allowed; wait as long as Retry-After says.", b.limit.Count).
			With("limit", b.class).WithRetryAfter(wholeSeconds(decision.RetryAfter))
	}
	if wait, ok := l.quotas.take(ctx, c.key); !ok {
		return errs.Newf(errs.QuotaExceeded, "The quota of %d requests per day is used up; it begins anew at midnight UTC.", l.deps.Config.QuotaPerDay).
			WithRetryAfter(wholeSeconds(wait))
	}
	return nil
}

// describe writes both families of headers: the customary X-RateLimit-*, whose reset is a time in epoch seconds, and the
// structured RateLimit-Policy and RateLimit of the IETF draft, whose t is a number of seconds. Keys are in canonical form.
func (l *Limits) describe(h http.Header, b bucket, d kv.Decision) {
	wait := d.ResetAfter
	if !d.Allowed {
		wait = d.RetryAfter
	}
	text := values{buffer: make([]byte, 0, usualLength)}
	text.number(int64(d.Limit)).end()
	text.number(int64(d.Remaining)).end()
	text.number(l.deps.Clock.Now().Add(d.ResetAfter + time.Second - 1).Unix()).end()
	text.text(`"`).text(b.class).text(`";q=`).number(int64(d.Limit)).text(";w=60").end()
	text.text(`"`).text(b.class).text(`";r=`).number(int64(d.Remaining)).text(";t=").number(int64((wait + time.Second - 1) / time.Second)).end()
	text.set(h, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit-Policy", "Ratelimit")
}

// values are the values of headers, written into one piece of memory because every call has them.
type values struct {
	buffer []byte
	ends   [5]int
	count  int
}

// usualLength is more than the values of a call need.
const usualLength = 160

func (v *values) text(s string) *values {
	v.buffer = append(v.buffer, s...)
	return v
}

func (v *values) number(n int64) *values {
	v.buffer = strconv.AppendInt(v.buffer, n, 10)
	return v
}

// end says that the next value begins.
func (v *values) end() {
	v.ends[v.count] = len(v.buffer)
	v.count++
}

// set gives each name its value.
func (v *values) set(h http.Header, names ...string) {
	all, list := string(v.buffer), make([]string, len(names))
	begin := 0
	for i, name := range names {
		list[i] = all[begin:v.ends[i]]
		h[name] = list[i : i+1 : i+1]
		begin = v.ends[i]
	}
}
