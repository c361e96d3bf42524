package app

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"time"

	"atelier/internal/egress"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// front puts the manners and the operator's endpoints in front of the services.
func (a *App) front(next http.Handler) (http.Handler, error) {
	cfg := a.opts.Config
	proxies, err := egress.ParseNetworks(cfg.TrustedProxies)
	if err != nil {
		return nil, err
	}
	compressed, err := httpx.Compress(a.operations(next))
	if err != nil {
		return nil, err
	}
	front := httpx.FrontConfig{
		Log: a.opts.Log, Clock: a.opts.Clock, IDs: a.opts.IDs, HTTPS: strings.HasPrefix(cfg.PublicURL(), "https://"),
		Versions:          httpx.NewVersions(httpx.Generations(), httpx.Behaviours(), a.opts.Clock.Now),
		CORS:              httpx.NewCORS(append([]string{origin(cfg.PublicURL())}, cfg.CORSOrigins...)),
		KeepCorrelationID: !cfg.OverwriteCorrelationID,
		Timeout:           cfg.RequestTimeout,
		TrustedProxies:    proxies,
		Observe:           a.metrics.Request,
	}
	if a.parts.tracing != nil {
		front.Trace = a.parts.tracing.Request
	}
	if !a.runsGateway() {
		front.Trust, front.CORS = a.parts.prover.Trust, nil
	}
	return httpx.NewFront(front, compressed), nil
}

func (a *App) runsGateway() bool {
	for _, name := range a.opts.Config.Target {
		if name == "all" || name == "gateway" {
			return true
		}
	}
	return false
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// operations serves what operators and load balancers ask, on every process.
func (a *App) operations(next http.Handler) http.Handler {
	problems := httpx.Errors{Log: a.opts.Log}
	mux := http.NewServeMux()
	healthy := answer(http.StatusOK, `{"healthy":true}`)
	mux.Handle("GET /healthz", healthy)
	mux.Handle("GET /sys/healthcheck", healthy)
	ready, notReady := answer(http.StatusOK, `{"status":"ready"}`), answer(http.StatusServiceUnavailable, `{"status":"stopping"}`)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			notReady(w, r)
			return
		}
		ready(w, r)
	})
	mux.Handle("GET /version", answer(http.StatusOK, `{"name":"atelier","version":"`+a.opts.Version+`"}`))
	metrics := a.metrics.Handler()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !a.internal(r) {
			problems.Write(w, r, errs.New(errs.PermissionDenied, "Send the internal key, as Authorization: Bearer <INTERNAL_API_KEY>."))
			return
		}
		metrics.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path { // cheaper than a router that nearly every request would only pass through
		case "/healthz", "/sys/healthcheck", "/readyz", "/version", "/metrics":
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				w.Header().Set("Allow", "GET, HEAD")
				problems.Write(w, r, errs.New(errs.InvalidRequest, "This method is not allowed here; allowed: GET, HEAD.").
					WithStatus(http.StatusMethodNotAllowed))
				return
			}
			mux.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// internal tells whether the request carries the internal key.
func (a *App) internal(r *http.Request) bool {
	given := r.Header.Get("X-Svc-Api-Key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		given = bearer
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(a.parts.internalKey)) == 1
}

func answer(status int, body string) http.HandlerFunc {
	text := []byte(body + "\n")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

// inside is the client for calls between our own processes, at addresses the operator configured.
func (p *parts) inside() *http.Client {
	const timeout = 5 * time.Second
	return &http.Client{Timeout: timeout, Transport: p.trusting()}
}

// trusting is a transport that trusts EXTRA_CA_CERTS, for addresses the operator configured.
func (p *parts) trusting() *http.Transport {
	transport := &http.Transport{TLSClientConfig: p.egress.TLSConfig(), MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
	p.keep("outbound connections", func(context.Context) error { transport.CloseIdleConnections(); return nil })
	return transport
}

// inject carries traces to services in other processes; nil when tracing is off.
func (p *parts) inject() func(context.Context, http.Header) {
	if p.tracing == nil {
		return nil
	}
	return p.tracing.Inject
}
