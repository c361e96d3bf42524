package httpx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/latectx"
)

// Front is the outermost handler of a listener. Whatever happens behind it, the response has a correlation id, the version
// used, the security headers and, when it is an error, our JSON.
type Front struct {
	cfg    FrontConfig
	errors Errors
	fixed  fixedHeaders
	next   http.Handler
}

// FrontConfig is what a Front needs.
type FrontConfig struct {
	Log      *slog.Logger
	Clock    clock.Clock
	IDs      ident.Source
	Versions *Versions
	CORS     *CORS
	// HTTPS tells that the public address is HTTPS, so browsers may be told to insist on it.
	HTTPS bool
	// KeepCorrelationID accepts a well-formed correlation id from the client.
	KeepCorrelationID bool
	// Timeout bounds the whole request.
	Timeout time.Duration
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Observe is told of every finished request; may be nil.
	Observe func(Observation)
	// Trace starts a span; may be nil.
	Trace func(r *http.Request) (context.Context, func(Observation))
	// Trust, when set, takes the request's info and identity from the gateway's proof instead of starting anew; it
	// returns an error when the proof is bad.
	Trust func(r *http.Request, info *Info) (context.Context, error)
}

// Observation describes a finished request.
type Observation struct {
	Method, Route string
	Status        int
	Bytes         int64
	Duration      time.Duration
	Info          *Info
}

// NewFront puts the manners in front of next.
func NewFront(cfg FrontConfig, next http.Handler) *Front {
	return &Front{cfg: cfg, errors: Errors{Log: cfg.Log}, fixed: newFixedHeaders(cfg.HTTPS), next: next}
}

// ServeHTTP serves one request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := &Info{Started: f.cfg.Clock.Now(), Shape: ShapeFlat, Client: f.client(r), Agent: agent(r), connection: r.Context()}
	info.CorrelationID = f.correlationID(r, info.Started)
	if WantsProblem(r.Header) {
		info.Shape = ShapeProblem
	}
	ctx, end := r.Context(), (func(Observation))(nil)
	if f.cfg.Trace != nil {
		ctx, end = f.cfg.Trace(r)
	}
	ctx, cancel := latectx.WithTimeout(WithInfo(ctx, info), f.cfg.Timeout)
	defer cancel()
	r = r.WithContext(ctx)
	rec := &recorder{ResponseWriter: w}
	rec.limit(r, f.cfg.Timeout)
	defer func() { f.finish(rec, r, info, end, recover()) }()
	f.serve(rec, r, info)
}

func (f *Front) serve(w http.ResponseWriter, r *http.Request, info *Info) {
	h := w.Header()
	f.secure(h)
	if len(r.TransferEncoding) > 0 {
		h.Set("Connection", "close") // nothing that follows it on the connection is believed; see headGuard
	}
	err := f.cfg.Versions.choose(h, r, info)
	if f.cfg.Trust != nil {
		ctx, trustErr := f.cfg.Trust(r, info)
		if trustErr != nil {
			err = trustErr
		} else {
			r = r.WithContext(ctx)
			h[headerVersionUsed] = []string{string(info.Version)}
		}
	}
	h["X-Correlation-Id"] = []string{info.CorrelationID}
	if targetErr := checkTarget(r); targetErr != nil {
		err = targetErr
	}
	if f.cfg.CORS != nil {
		f.cfg.CORS.allow(h, r) // also for errors: a page must be able to read what it did wrong
	}
	if err != nil {
		f.refuse(w, r, err)
		return
	}
	if f.cfg.CORS != nil && isPreflight(r) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f.next.ServeHTTP(w, r)
}

// refuse answers a request that goes no further.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errs.From(err).Status() == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(methods, ", "))
	}
	f.errors.Write(w, r, err)
}

func (f *Front) finish(rec *recorder, r *http.Request, info *Info, end func(Observation), panicked any) {
	aborted := errors.Is(asError(panicked), http.ErrAbortHandler)
	if panicked != nil && !aborted {
		f.cfg.Log.ErrorContext(r.Context(), "handler panicked", "correlation_id", info.CorrelationID, "panic", fmt.Sprint(panicked),
			"stack", string(debug.Stack()))
		if rec.status == 0 {
			f.errors.Write(rec, r, errs.New(errs.Internal, "Something went wrong on our side. Quote the correlation id when you report it."))
			panicked = nil
		}
	}
	f.observe(rec, r, info, end)
	if panicked != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // cuts the connection: a half-sent answer must not look whole
	}
}

// observe tells of a finished request.
func (f *Front) observe(rec *recorder, r *http.Request, info *Info, end func(Observation)) {
	seen := Observation{
		Method: knownMethod(r.Method), Route: info.Route, Status: rec.Status(), Bytes: rec.bytes,
		Duration: f.cfg.Clock.Now().Sub(info.Started), Info: info,
	}
	if f.cfg.Observe != nil {
		f.cfg.Observe(seen)
	}
	if end != nil {
		end(seen)
	}
	if f.cfg.Log.Enabled(r.Context(), slog.LevelDebug) {
		f.cfg.Log.DebugContext(r.Context(), "request", "correlation_id", info.CorrelationID, "method", seen.Method, "path", logged(r, info),
			"status", seen.Status, "bytes", seen.Bytes, "duration_ms", float64(seen.Duration.Microseconds())/1000)
	}
}

func asError(v any) error {
	err, _ := v.(error)
	return err
}

// correlationID makes a new id, or keeps the client's when that is allowed and it is harmless.
func (f *Front) correlationID(r *http.Request, now time.Time) string {
	if f.cfg.KeepCorrelationID {
		if id := r.Header.Get("X-Correlation-Id"); validCorrelationID(id) {
			return id
		}
	}
	return f.cfg.IDs.Timed(now)
}

func validCorrelationID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// client finds the caller's address: the connection's, or behind trusted proxies the last one they did not add themselves.
func (f *Front) client(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	if len(f.cfg.TrustedProxies) == 0 {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && f.trusted(addr); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = hop.Unmap().WithZone("")
	}
	return addr
}

func (f *Front) trusted(addr netip.Addr) bool {
	for _, network := range f.cfg.TrustedProxies {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// agent is the User-Agent of a request, cut: it is shown to people who look at their sessions.
func agent(r *http.Request) string {
	const longest = 300
	text := r.UserAgent()
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}

// logged is the address of a request for the log: the pattern of its operation when there is one, because a path may hold a
// secret, such as the key that is to be deleted.
func logged(r *http.Request, info *Info) string {
	if info.Route != "" {
		return info.Route
	}
	return r.URL.Path
}
