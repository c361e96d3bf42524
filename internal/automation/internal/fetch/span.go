package fetch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// span is the span of a fetch; it may be empty.
type span struct{ trace.Span }

// begin starts the span of a fetch and sends it along, unless the instruction names one itself. The address is not in it: it may
// hold secrets.
func (c *Client) begin(ctx context.Context, r *request) (context.Context, span) {
	var s span
	if c.deps.Tracer != nil {
		ctx, s.Span = c.deps.Tracer.Start(ctx, "fetch "+r.method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("http.request.method", r.method), attribute.String("server.address", r.url.Hostname())))
	}
	if r.header.Get("Traceparent") == "" {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.header))
	}
	return ctx, s
}

func (s span) end(status int, err error) {
	if s.Span == nil {
		return
	}
	if status != 0 {
		s.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if err != nil {
		s.SetStatus(codes.Error, "the fetch failed")
	}
	s.End()
}
