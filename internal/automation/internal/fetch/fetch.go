// Package fetch is the instruction fetch: an automation asks a server over HTTP. Whatever the server does, it costs one failed
// fetch and a bounded amount of memory and time, and what an automation is told of a failure says nothing of the network that
// the platform stands in. Requests to the platform itself carry the identity of the run and how many automations led to them.
package fetch

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
)

// Deps are what fetches need.
type Deps struct {
	// Network reaches everything that is not the platform.
	Network *egress.Guard
	// Platform reaches the platform, which may have a private address. Nil treats its addresses like all others.
	Platform http.RoundTripper
	Clock    clock.Clock
	// Tracer makes a span of each fetch; nil makes none.
	Tracer trace.Tracer
	// APIURL is the address of the platform's API, UserAgent what requests say they come from.
	APIURL, UserAgent string
	// Forbidden are hosts that no fetch may reach; one that begins with a dot is the domain and all below it.
	Forbidden []string
	// MaxRetries is how often a request is repeated, RetryStatus after which answers, RetryCodes after which broken
	// connections: ECONNRESET, UND_ERR_SOCKET, EPIPE, EHOSTUNREACH, ENETUNREACH, ECONNREFUSED, ETIMEDOUT. A list that is
	// nil is the usual one.
	MaxRetries  int
	RetryStatus []int
	RetryCodes  []string
	// Timeout is how long one attempt may take until its answer is read; one that streams until it begins. MaxBody is how
	// many bytes an answer may unfold to.
	Timeout time.Duration
	MaxBody int64
	// HTTP2 speaks HTTP/2 with servers that offer it.
	HTTP2 bool
	// Secrets opens $secret: references; nil knows none.
	Secrets Secrets
	// Token gives the run's token for the platform, ForwardToken that of the workspace that called the run. Nil gives none.
	Token, ForwardToken func(f *machine.Frame) (jwt string, err error)
	// KeyToken gives a token for the platform that acts with an API key of the workspace, by its name, and an empty text when
	// there is none.
	KeyToken func(f *machine.Frame, name string) (jwt string, err error)
	// Emit emits an event of the automation, for answers that stream. It is called many times at one place of a run, so it
	// must not take the place as the name of one effect.
	Emit func(f *machine.Frame, eventType string, payload any, target, options *value.Object) error
}

// Secrets opens references to secrets.
type Secrets interface {
	// Reveal gives the secret that a reference stands for; it is false when there is none, or no longer.
	Reveal(ctx context.Context, reference, workspaceID string) (string, bool, error)
}

// What holds when Deps do not say it.
const (
	defaultTimeout = 60 * time.Second
	defaultMaxBody = 10_000_000
)

// Client does fetches. It is safe for concurrent use.
type Client struct {
	deps     Deps
	api      *url.URL // nil when there is no platform
	usual    *http.Client
	trusting *http.Client // accepts any certificate
	codes    []error
	big      *slots
}

// New makes the client.
func New(deps Deps) *Client {
	if deps.Timeout <= 0 {
		deps.Timeout = defaultTimeout
	}
	if deps.MaxBody <= 0 {
		deps.MaxBody = defaultMaxBody
	}
	if deps.RetryStatus == nil {
		deps.RetryStatus = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway}
	}
	if deps.RetryCodes == nil {
		deps.RetryCodes = []string{"ECONNRESET", "UND_ERR_SOCKET", "EPIPE", "EHOSTUNREACH", "ENETUNREACH"}
	}
	c := &Client{deps: deps, codes: retryErrors(deps.RetryCodes), big: newSlots()}
	if api, err := url.Parse(strings.TrimSuffix(deps.APIURL, "/")); err == nil && api.Host != "" && deps.Platform != nil {
		c.api = api
	}
	c.usual, c.trusting = c.client(false), c.client(true)
	return c
}

// client makes an HTTP client with the guard's rules about redirects. Time is bounded per attempt, by the context.
func (c *Client) client(anyCertificate bool) *http.Client {
	made := c.deps.Network.Client()
	made.Timeout = 0
	// The time of an attempt is up before that of its headers, so that a silent server is told from a broken one.
	outside := c.deps.Network.TransportWith(egress.Options{
		AnyCertificate: anyCertificate, HeaderTimeout: 2 * c.deps.Timeout, HTTP1: !c.deps.HTTP2,
	})
	made.Transport = &router{outside: outside, platform: c.deps.Platform, api: c.api, forbidden: hosts(c.deps.Forbidden)}
	return made
}

// Close closes connections that nobody uses.
func (c *Client) Close() {
	c.usual.CloseIdleConnections()
	c.trusting.CloseIdleConnections()
}

// Instruction is the instruction fetch.
func (c *Client) Instruction() machine.Instruction { return machine.Simple(c.Fetch) }

// Fetch does one fetch in a frame and gives back what its output is set to.
func (c *Client) Fetch(f *machine.Frame, parameters *value.Object) (any, error) {
	if noted, done, err := recall(f); done || err != nil {
		return noted, err
	}
	if err := f.Throttle(machine.ThrottleFetches, 1); err != nil {
		return nil, err
	}
	r, err := c.prepare(f, parameters)
	if err != nil {
		return nil, err
	}
	back := f.Away()
	result, err := c.perform(f, r)
	back()
	if err != nil {
		return nil, err
	}
	return result, remember(f, result)
}

// perform sends the request, reads the answer and reports what went wrong with either.
func (c *Client) perform(f *machine.Frame, r *request) (any, error) {
	ctx, span := c.begin(f.Context(), r)
	got, err := c.exchange(ctx, r, f.Sleep)
	if err != nil {
		span.end(0, err)
		return nil, c.failed(f, r, got, err)
	}
	if got.live != nil {
		return c.stream(f, r, got, span)
	}
	span.end(got.status, nil)
	if got.status >= http.StatusBadRequest {
		c.report(f, r, got, nil)
	}
	return got.output(r), nil
}

// failed reports a fetch that has no good answer and gives the error that the automation sees.
func (c *Client) failed(f *machine.Frame, r *request, got *answer, err error) error {
	if ended := f.Context().Err(); ended != nil {
		return context.Cause(f.Context())
	}
	failure := failureOf(err)
	c.report(f, r, got, failure)
	return failure
}

func hosts(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		if host := hostName(text); host != "" {
			out = append(out, host)
		}
	}
	return slices.Clip(out)
}
