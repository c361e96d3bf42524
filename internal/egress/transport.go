package egress

import (
	"errors"
	"io"
	"net/http"

	"atelier/internal/errs"
)

// Unreachable is all a user is told when a call fails: whether the address is forbidden, the port closed or the server
// odd would describe a network the user cannot see.
const Unreachable = "The address is not allowed or cannot be reached."

// unreachable keeps the cause for the log.
func unreachable(cause error) *errs.Error {
	return errs.New(errs.Unavailable, Unreachable).WithStatus(http.StatusBadGateway).Because(cause)
}

// transport checks each request, also those of redirects, and hides why it failed.
type transport struct {
	guard *Guard
	http  *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.guard.inspect(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTrip
		}
		return nil, unreachable(err)
	}
	resp, err := t.http.RoundTrip(r)
	if err != nil {
		return nil, unreachable(err)
	}
	resp.Body = body{resp.Body}
	return resp, nil
}

// CloseIdleConnections is called by the method of http.Client with this name.
func (t *transport) CloseIdleConnections() { t.http.CloseIdleConnections() }

// body hides the errors of a connection that breaks later: they hold the address.
type body struct{ io.ReadCloser }

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, unreachable(err)
	}
	return n, err
}

// ReadBody reads and closes the body of a response. A body of more than max bytes is an *errs.Error that says so;
// compressed ones are counted as they unfold.
func ReadBody(resp *http.Response, max int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > max {
		return nil, errs.Newf(errs.Unavailable, "The answer of the address is larger than the %d bytes allowed.", max).
			WithStatus(http.StatusBadGateway)
	}
	return data, nil
}
