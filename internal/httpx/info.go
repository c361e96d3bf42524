// Package httpx gives every HTTP server of the product the same manners: correlation ids, one error shape, API versions,
// refusal of ambiguous requests, limits, compression, CORS, security headers, metrics, logs, and a graceful end.
package httpx

import (
	"context"
	"net/netip"
	"time"
)

// Info is what is known of a request while it is being served.
type Info struct {
	// CorrelationID finds the request in logs, events and traces.
	CorrelationID string
	// Shape is how errors are written.
	Shape Shape
	// Version is the dated behaviour the client gets.
	Version Date
	// Client is the address of the caller, seen through trusted proxies.
	Client netip.Addr
	// Agent is what the caller's program says it is, cut to a sensible length.
	Agent string
	// Started is when the request arrived.
	Started time.Time
	// Route is the path pattern of the operation that served it, for metrics; set by the operation.
	Route string

	// connection ends when the client leaves; the request's own context also ends when its time is up.
	connection context.Context //nolint:containedctx // a request has one, as http.Request does
}

// Shape is a way to write an error.
type Shape string

// The shapes of specification 7.1, and problem details for clients that ask for them.
const (
	ShapeFlat    Shape = "flat"
	ShapeNested  Shape = "nested"
	ShapeProblem Shape = "problem"
)

// Onward is a context for what somebody does because of a request: with this correlation id, and the address of the caller when it
// is one. What else is known of a request that is being served stays.
func Onward(ctx context.Context, correlationID, client string) context.Context {
	known := InfoFrom(ctx)
	addr := known.Client
	if client != "" {
		if given, err := netip.ParseAddr(client); err == nil {
			addr = given
		}
	}
	if correlationID == known.CorrelationID && addr == known.Client {
		return ctx // as nearly always: it is what the request itself does
	}
	info := *known
	info.CorrelationID, info.Client = correlationID, addr
	return WithInfo(ctx, &info)
}

type infoKey struct{}

// WithInfo puts the request's info into the context.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoFrom gives the info of the request being served; an empty one outside a request.
func InfoFrom(ctx context.Context) *Info {
	if info, ok := ctx.Value(infoKey{}).(*Info); ok {
		return info
	}
	return &Info{Shape: ShapeFlat}
}
