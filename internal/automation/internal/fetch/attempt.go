package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

var errSlow = errors.New("the answer took too long")

// attempt is one try of a request.
type attempt struct {
	// ctx ends with the run, when the time of the attempt is up, and when the answer is done with.
	ctx    context.Context //nolint:containedctx // it lives as long as the answer
	cancel context.CancelCauseFunc
	// unlimited takes the limit of time away, for answers that stream.
	unlimited func()
	// connected tells that the server was reached, wrote that it may have seen the request.
	connected, wrote atomic.Bool
	response         *http.Response
}

// try sends the request once. The answer, if there is one, is to be closed by end.
func (c *Client) try(ctx context.Context, r *request) (*attempt, error) {
	a := &attempt{}
	a.ctx, a.cancel = context.WithCancelCause(withJourney(ctx, r.journey))
	limited, release := context.WithTimeout(a.ctx, c.deps.Timeout)
	stop := context.AfterFunc(limited, func() { a.cancel(errSlow) })
	a.unlimited = func() { stop(); release() }
	err := c.send(a, r)
	if err != nil {
		err = a.explain(err)
		a.end()
		return a, err
	}
	return a, nil
}

func (c *Client) send(a *attempt, r *request) error {
	watched := httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteHeaders: func() { a.wrote.Store(true) },
	})
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	made, err := http.NewRequestWithContext(watched, r.method, r.url.String(), body)
	if err != nil {
		return err
	}
	made.Header = r.header.Clone()
	if r.authorize != nil {
		if err := r.authorize(made); err != nil {
			return err
		}
	}
	client := c.usual
	if r.anyCertificate {
		client = c.trusting
	}
	a.response, err = client.Do(made) //nolint:bodyclose // end does
	return err
}

// end gives up what is left of the attempt.
func (a *attempt) end() {
	if a.response != nil {
		_ = a.response.Body.Close() // nothing of it is wanted any more
	}
	a.unlimited()
	a.cancel(nil)
}

// explain tells what the time that ran out, or a server that was reached, has to do with an error.
func (a *attempt) explain(err error) error {
	if errors.Is(context.Cause(a.ctx), errSlow) {
		err = errSlow
	}
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // it shows the whole address, with the secrets in it
	}
	return &attemptError{cause: err, connected: a.connected.Load()}
}

// attemptError is why an attempt has no answer.
type attemptError struct {
	cause     error
	connected bool
}

// Error is for the log.
func (e *attemptError) Error() string { return e.cause.Error() }

// Unwrap gives the cause.
func (e *attemptError) Unwrap() error { return e.cause }
