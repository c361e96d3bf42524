package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"atelier/internal/httpx"
)

// Tracing sends spans to an OpenTelemetry collector. It is off until the standard variables turn it on.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext
}

// NewTracing reads the standard OTEL_* variables through lookup. It returns nil when tracing is not asked for.
func NewTracing(ctx context.Context, lookup func(string) string, version string) (*Tracing, error) {
	if !wanted(lookup) {
		return nil, nil //nolint:nilnil // nil is the documented way to say off
	}
	exporter, err := otlptracehttp.New(ctx) // reads OTEL_EXPORTER_OTLP_* itself
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	name := lookup("OTEL_SERVICE_NAME")
	if name == "" {
		name = "atelier"
	}
	described, err := resource.Merge(resource.Default(), resource.NewSchemaless(
		attribute.String("service.name", name), attribute.String("service.version", version)))
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	return &Tracing{provider: provider, tracer: provider.Tracer("atelier")}, nil
}

func wanted(lookup func(string) string) bool {
	if strings.EqualFold(lookup("OTEL_SDK_DISABLED"), "true") || lookup("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return lookup("OTEL_TRACES_EXPORTER") == "otlp" || lookup("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		lookup("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Request starts the span of an incoming request, as a child of the caller's when it sent one.
func (t *Tracing) Request(r *http.Request) (context.Context, func(httpx.Observation)) {
	ctx := t.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, func(o httpx.Observation) {
		span.SetName(o.Method + " " + o.Route)
		span.SetAttributes(attribute.String("http.request.method", o.Method), attribute.String("http.route", o.Route),
			attribute.Int("http.response.status_code", o.Status), attribute.String("correlation.id", o.Info.CorrelationID))
		if o.Status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(o.Status))
		}
		span.End()
	}
}

// Inject carries the span of ctx to a service in another process.
func (t *Tracing) Inject(ctx context.Context, h http.Header) {
	t.context.Inject(ctx, propagation.HeaderCarrier(h))
}

// Tracer makes spans for what is done besides requests.
func (t *Tracing) Tracer() trace.Tracer { return t.tracer }

// Close sends what is left.
func (t *Tracing) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }
