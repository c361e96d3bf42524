package webhooks

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"atelier/internal/errs"
)

// What comes of an attempt.
const (
	OutcomeDelivered = "delivered"
	OutcomeFailed    = "failed"
	// OutcomeGone is that the endpoint wants nothing any more.
	OutcomeGone = "gone"
)

// maxKept is how much of a body is kept.
const maxKept = 64 << 10

// Attempt is one sending of a delivery: exactly what was sent, and what came back.
type Attempt struct {
	Number   int
	At       time.Time
	Took     time.Duration
	Outcome  string
	Error    string
	Request  Request
	Response *Response

	retryAfter time.Duration
}

// Request is what was sent. Its body is that of the delivery.
type Request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// Response is what came back.
type Response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitempty"`
	// Encoding is base64 when the body is not text.
	Encoding string `json:"encoding,omitempty"`
	// Truncated tells that there was more than is kept.
	Truncated bool `json:"truncated,omitempty"`
}

// userAgent is how the product introduces itself.
const userAgent = "Atelier-Webhooks/1"

// send makes one attempt. It follows no redirect: an endpoint that moved has to be told of. It never fails, since whatever
// happens is the outcome; ctx bounds it only when the process has to stop.
func (w *Webhooks) send(ctx context.Context, s *Subscription, d *Delivery) *Attempt {
	began := w.time()
	a := &Attempt{Number: d.Attempts + 1, At: began, Outcome: OutcomeFailed, Request: Request{Method: http.MethodPost, URL: s.URL}}
	if s.content == nil {
		a.Error = "The secrets of the subscription cannot be opened; rotate them."
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, w.Settings.Timeout)
	defer cancel()
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, s.URL, bytes.NewReader(d.body))
	if err != nil {
		a.Error = "The address of the subscription cannot be used; change it."
		return a
	}
	for name, value := range s.content.Headers {
		r.Header.Set(name, value)
	}
	w.sign(r, s, d, began)
	a.Request.Headers = shown(r.Header, func(name string) bool {
		_, own := s.content.Headers[name]
		return own && secretHeader(name)
	})
	client := &http.Client{Transport: w.Network.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r) //nolint:bodyclose // read does
	if err != nil {
		a.Error = w.failure(ctx, err, connected.Load())
		if connected.Load() { // otherwise the time could tell of a network that the subscriber does not see
			a.Took = w.Clock.Now().Sub(began)
		}
		return a
	}
	a.read(answer)
	a.Took = w.Clock.Now().Sub(began)
	a.judge(answer, w.Clock.Now())
	return a
}

func (w *Webhooks) sign(r *http.Request, s *Subscription, d *Delivery, at time.Time) {
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Encoding", "identity") // what comes back is kept as it is
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", userAgent)
	}
	r.Header.Set(headerID, d.ID)
	r.Header.Set(headerTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(headerSignature, s.content.sign(d.ID, at, d.body))
	r.Header.Set(headerHops, strconv.Itoa(hopsOf(d.body)+1))
}

// failure says why there is no answer, and of an address that was never connected to no more than that.
func (w *Webhooks) failure(ctx context.Context, err error, connected bool) string {
	if connected && ctx.Err() != nil {
		return "The endpoint did not answer within " + w.Settings.Timeout.String() + "."
	}
	if connected {
		return "The endpoint ended the connection without an answer."
	}
	return errs.From(err).Message
}

// read keeps what came back.
func (a *Attempt) read(answer *http.Response) {
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKept+1)) // an answer that breaks off is one: its status counts
	body, more := Beginning(body, maxKept)
	kept := &Response{Status: answer.StatusCode, Headers: shown(answer.Header, func(name string) bool { return name == "Set-Cookie" }), Truncated: more || err != nil}
	kept.Body = string(body)
	if !utf8.Valid(body) {
		kept.Body, kept.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	a.Response = kept
}

// Beginning gives at most so many bytes of a text, without a character at the end of which only a part is there, and tells
// whether there was more.
func Beginning(text []byte, most int) (beginning []byte, more bool) {
	if len(text) <= most {
		return text, false
	}
	text = text[:most]
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if end := text[len(text)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return text[:len(text)-i], true
			}
			break
		}
	}
	return text, true
}

// judge is the outcome by the status.
func (a *Attempt) judge(answer *http.Response, now time.Time) {
	switch status := answer.StatusCode; {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		a.Outcome = OutcomeDelivered
	case status == http.StatusGone:
		a.Outcome, a.Error = OutcomeGone, "The endpoint answered 410: it wants no more events."
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		a.Error = "The endpoint answered with a redirect, which is not followed; change the address."
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		a.Error = "The endpoint answered " + strconv.Itoa(status) + "."
		a.retryAfter = retryAfter(answer.Header, now)
	default:
		a.Error = "The endpoint answered " + strconv.Itoa(status) + "."
	}
}

// shown are headers as they are kept: those that hide tells of without their values.
func shown(headers http.Header, hide func(name string) bool) map[string]string {
	all := make(map[string]string, len(headers))
	for name, values := range headers {
		value := strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		if value != "" && hide(name) {
			value = mask
		}
		all[name] = value
	}
	return all
}
