package fetch

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
)

// Try does what a fetch does below its frame: it reads the parameters, sends, repeats and gives the output.
func (c *Client) Try(ctx context.Context, parameters *value.Object, sleep func(time.Duration) error) (any, error) {
	r, err := read(parameters)
	if err != nil {
		return nil, err
	}
	r.platform = c.isPlatform(r.url)
	r.journey = http.Header{HeaderDepth: {"7"}, HeaderHops: {"3"}}
	got, err := c.exchange(ctx, r, sleep)
	if err != nil {
		return nil, failureOf(err)
	}
	if got.live != nil {
		made := newSource(got, r.stream, c.deps.MaxBody)
		return got.detailed(made, made), nil
	}
	return got.output(r), nil
}

// IsPlatform tells whether an address is the platform's.
func IsPlatform(api, address string) bool {
	a, _ := url.Parse(api)
	u, err := url.Parse(address)
	return err == nil && isPlatform(a, u)
}

// Sign signs a request the way of AWS.
func Sign(given *value.Object, r *http.Request, body []byte, now time.Time) error {
	s, err := newSigner(given, r.URL.Hostname())
	if err == nil {
		s.sign(r, body, now)
	}
	return err
}

// AWSHost reads service and region in a host.
func AWSHost(host string) (service, region string) { return awsHost(host) }

// Open puts secrets in the place of references.
func Open(ctx context.Context, secrets Secrets, parameters *value.Object, hide func(string)) (*value.Object, error) {
	return (&opener{ctx: ctx, secrets: secrets, workspaceID: "w", hide: hide}).parameters(parameters)
}

// Emit emits the chunks of a stream.
func Emit(ctx context.Context, c clock.Clock, said *value.Object, body io.ReadCloser, emit func(*value.Object) error) (any, error) {
	s, err := readStreaming(said)
	if err != nil {
		return nil, err
	}
	e := &emitter{said: s, clock: c, emit: emit, joined: joined{path: s.path, limit: 1 << 20}}
	err = e.run(ctx, newChunks(body, true), func() { _ = body.Close() })
	return e.joined.value(), err
}

// Chunks gives all chunks of a stream, each read apart.
func Chunks(body io.Reader, events bool) (all []any, err error) {
	stream := newChunks(body, events)
	for {
		c, err := stream.next()
		if err != nil {
			return all, err
		}
		all = append(all, c.value())
	}
}

// Multipart makes the body of a form.
func Multipart(parts any) (kind, body string, err error) {
	r := &request{method: http.MethodPost, header: http.Header{}}
	err = r.multipart(parts)
	return r.header.Get("Content-Type"), string(r.body), err
}

// Bearable tells that a JSON text may be read.
func Bearable(written string) bool { return bearable(written) }

// Take takes a place for a large answer.
func Take(ctx context.Context, c *Client, workspaceID string) (func(), error) {
	return c.big.take(ctx, workspaceID)
}

// Shares is how many workspaces hold places.
func Shares(c *Client) int {
	c.big.mu.Lock()
	defer c.big.mu.Unlock()
	return len(c.big.shares)
}

// Parse reads an address.
func Parse(text string) (string, error) {
	u, err := parseURL(strings.TrimSpace(text))
	if err != nil {
		return "", err
	}
	return u.String(), nil
}
