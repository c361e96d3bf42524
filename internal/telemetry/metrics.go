package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"atelier/internal/httpx"
)

// Metrics are the process's Prometheus metrics.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

// NewMetrics returns the metrics of the process and the Go runtime.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "http_request_duration_seconds",
			Help:    "How long requests took, by route pattern.",
			Buckets: []float64{.005, .01, .025, .05, .1, .3, .5, .7, 1, 3, 5, 7, 10},
		}, []string{"status_code", "path", "method"}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atelier_build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(m.requests, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts one finished request. Requests that no operation matched share one path, so that a scanner cannot fill
// the memory with labels.
func (m *Metrics) Request(o httpx.Observation) {
	route := o.Route
	if route == "" {
		route = "unmatched"
	}
	m.requests.WithLabelValues(strconv.Itoa(o.Status), route, o.Method).Observe(o.Duration.Seconds())
}

// Gauge publishes a value that is read when it is asked for.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter publishes a count that only grows, read when it is asked for.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Durations publishes how long something took that takes from seconds to days, and gives the function that is told of it.
func (m *Metrics) Durations(name, help string) func(time.Duration) {
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600}})
	m.registry.MustRegister(histogram)
	return func(took time.Duration) { histogram.Observe(took.Seconds()) }
}

// Handler serves the metrics in Prometheus' format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
