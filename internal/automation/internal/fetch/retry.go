package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"atelier/internal/dsul/expr/value"
)

const (
	firstPause = 200 * time.Millisecond
	// longestPause is how long a server may ask to wait; who asks for longer is believed and not asked again.
	longestPause = 61 * time.Second
)

// retryErrors are the errors that codes stand for.
func retryErrors(codes []string) []error {
	var out []error
	for _, code := range codes {
		switch strings.ToUpper(strings.TrimSpace(code)) {
		case "ECONNRESET":
			out = append(out, syscall.ECONNRESET)
		case "UND_ERR_SOCKET": // the connection ended without an answer
			out = append(out, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNABORTED)
		case "EPIPE":
			out = append(out, syscall.EPIPE)
		case "EHOSTUNREACH":
			out = append(out, syscall.EHOSTUNREACH)
		case "ENETUNREACH":
			out = append(out, syscall.ENETUNREACH)
		case "ECONNREFUSED":
			out = append(out, syscall.ECONNREFUSED)
		case "ETIMEDOUT":
			out = append(out, syscall.ETIMEDOUT)
		}
	}
	return out
}

// KnownCode tells whether a code stands for a broken connection.
func KnownCode(code string) bool { return len(retryErrors([]string{code})) > 0 }

// exchange sends the request, again where that may help, and reads the answer.
func (c *Client) exchange(ctx context.Context, r *request, sleep func(time.Duration) error) (*answer, error) {
	for tried := 0; ; tried++ {
		a, err := c.try(ctx, r)
		last := tried >= c.deps.MaxRetries || ctx.Err() != nil
		if err != nil {
			if last || !c.passing(a, r, err) {
				return nil, err
			}
			if err := sleep(firstPause << tried); err != nil {
				return nil, err
			}
			continue
		}
		got, err := c.receive(a, r)
		if err != nil || got.live != nil {
			return got, err
		}
		pause, again := c.again(got, r, tried)
		if last || !again {
			return got, nil
		}
		if err := sleep(pause); err != nil {
			return nil, err
		}
	}
}

// passing tells that an error may pass, and that the request can be repeated: the server has not seen it, or it does no harm to
// do it twice.
func (c *Client) passing(a *attempt, r *request, err error) bool {
	if !repeatable(r.method) && a.wrote.Load() {
		return false
	}
	return slices.ContainsFunc(c.codes, func(code error) bool { return errors.Is(err, code) })
}

// repeatable tells that a request may be sent twice by what HTTP says of its method.
func repeatable(method string) bool {
	return reading(method) || method == http.MethodPut || method == http.MethodDelete
}

// again tells whether an answer asks for the request once more, and when. A server that has too much to do has not done it, so
// that any request may be repeated.
func (c *Client) again(got *answer, r *request, tried int) (time.Duration, bool) {
	if !slices.Contains(c.deps.RetryStatus, got.status) || !repeatable(r.method) && got.status != http.StatusTooManyRequests {
		return 0, false
	}
	pause := firstPause << tried
	if asked, ok := c.retryAfter(got, r); ok {
		pause = max(asked, firstPause)
	}
	return pause, pause < longestPause
}

// retryAfter is how long a server asks to wait: in the header, or as the platform says it.
func (c *Client) retryAfter(got *answer, r *request) (time.Duration, bool) {
	if r.platform {
		if seconds, ok := value.Get(value.Get(got.body, "details"), "retryAfter").(float64); ok && seconds >= 0 && seconds < longestPause.Seconds() {
			return time.Duration(seconds * float64(time.Second)), true
		} else if ok {
			return longestPause, true
		}
	}
	text := got.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && seconds >= 0 {
		return min(time.Duration(min(seconds, 3600))*time.Second, time.Hour), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(c.deps.Clock.Now()), 0), true
	}
	return 0, false
}
