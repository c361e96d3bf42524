package federation

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// callTimeout bounds one call to a provider: someone is waiting in front of a browser.
	callTimeout = 5 * time.Second
	// maxAnswer is the largest answer of a provider that is read.
	maxAnswer = 1 << 20
)

// errTooLarge says that a provider answers with more than anyone needs to sign in.
var errTooLarge = errors.New("the answer of the provider is too large")

// errRedirect says that a provider sends a call elsewhere that must not go there.
var errRedirect = errors.New("the provider redirects a call that must not be redirected")

// bounded makes a client of the guard's into one for providers: quick, with small answers, and never carrying a code or a
// secret to where it was not meant to go.
func bounded(guarded *http.Client) *http.Client {
	client := *guarded
	client.Transport = boundedTransport{guarded.Transport}
	client.Timeout = callTimeout
	client.CheckRedirect = func(next *http.Request, asked []*http.Request) error {
		first := asked[0]
		if first.Method != http.MethodGet || first.URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errRedirect
		}
		return guarded.CheckRedirect(next, asked)
	}
	return &client
}

type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// boundedBody fails instead of ending early, so that half an answer is never taken for a whole one.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// maxBrief bounds what is logged of a provider's words.
const maxBrief = 300

// brief is an error that holds an answer of a provider, cut to what a log needs.
func brief(err error) error {
	text := []rune(strings.Join(strings.Fields(err.Error()), " "))
	return errors.New(string(text[:min(len(text), maxBrief)]))
}
