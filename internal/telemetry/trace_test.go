package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"atelier/internal/httpx"
	"atelier/internal/telemetry"
)

func TestTracingIsOffUntilAskedFor(t *testing.T) {
	t.Parallel()
	for name, environment := range map[string]map[string]string{
		"nothing set": {},
		"disabled":    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "true"},
		"none":        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		tracing, err := telemetry.NewTracing(t.Context(), func(key string) string { return environment[key] }, "test")
		if err != nil || tracing != nil {
			t.Errorf("%s: %v, %v", name, tracing, err)
		}
	}
}

// With the standard variable set, the span of a request reaches the collector, and carries the caller's trace on.
func TestSpansReachTheCollector(t *testing.T) {
	received := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case received <- r.URL.Path:
		default:
		}
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracing, err := telemetry.NewTracing(t.Context(), func(key string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[key]
	}, "test")
	if err != nil {
		t.Fatal(err)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := httptest.NewRequest(http.MethodGet, "/v2/me", nil)
	r.Header.Set("Traceparent", parent)
	ctx, end := tracing.Request(r)
	onward := http.Header{}
	tracing.Inject(ctx, onward)
	if got := onward.Get("Traceparent"); len(got) != len(parent) || got[:35] != parent[:35] || got == parent {
		t.Errorf("the trace goes on as %q", got)
	}
	end(httpx.Observation{Method: http.MethodGet, Route: "/v2/me", Status: http.StatusOK, Info: &httpx.Info{CorrelationID: "c"}})
	if err := tracing.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if path := <-received; path != "/v1/traces" {
		t.Errorf("the collector got %s", path)
	}
}
