package gateway

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// Remote hands requests to a service in another process, with the gateway's proof of who is calling.
type Remote struct {
	proxy     *httputil.ReverseProxy
	errors    httpx.Errors
	transport *http.Transport
}

// RemoteConfig is what a Remote needs.
type RemoteConfig struct {
	Service Service
	URL     string
	Prover  *access.Prover
	Log     *slog.Logger
	// TLS says which authorities to trust for an https:// address; nil means those of the system.
	TLS *tls.Config
	// Inject carries the trace on; may be nil.
	Inject func(ctx context.Context, h http.Header)
}

// Connections to a service inside the cluster: refused quickly when it is down, kept when it is busy.
const (
	remoteDialTimeout = time.Second
	remoteIdleConns   = 256
	remoteIdleTimeout = 55 * time.Second // shorter than the service keeps them
	remoteBodyStall   = 30 * time.Second
)

// NewRemote returns the handler of a service at an address.
func NewRemote(cfg RemoteConfig) (*Remote, error) {
	target, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	r := &Remote{errors: httpx.Errors{Log: cfg.Log}, transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: remoteDialTimeout}).DialContext,
		TLSClientConfig:     cfg.TLS,
		MaxIdleConns:        remoteIdleConns,
		MaxIdleConnsPerHost: remoteIdleConns,
		IdleConnTimeout:     remoteIdleTimeout,
		DisableCompression:  true, // what the service compressed goes to the client as it is
	}}
	r.proxy = &httputil.ReverseProxy{
		Transport:     r.transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("Cookie")
			p.Out.Header.Del("X-Svc-Api-Key")
			identify(p.In.Context(), p.Out.Header)
			if cfg.Inject != nil {
				cfg.Inject(p.In.Context(), p.Out.Header)
			}
			if err := cfg.Prover.Prove(p.In.Context(), p.Out); err != nil {
				cfg.Log.ErrorContext(p.In.Context(), "the proof for a service could not be made", "error", err)
			}
		},
		ErrorHandler: r.failed(cfg.Service),
	}
	return r, nil
}

// identify sets the headers of specification 5 rule 4. Services believe the proof, not these.
func identify(ctx context.Context, h http.Header) {
	p := access.From(ctx)
	for name, value := range map[string]string{"X-Svc-User-Id": p.UserID, "X-Svc-Session-Id": p.SessionID, "X-Svc-Workspace-Id": p.SourceWorkspace} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if p.SuperAdmin {
		h.Set("X-Svc-Role", "superadmin")
	}
	if p.Refused != nil {
		h.Set(access.HeaderRefused, string(errs.CodeOf(p.Refused)))
	}
	if said, err := json.Marshal(p.AuthData); err == nil && len(p.AuthData) > 0 {
		h.Set("X-Svc-Auth-Data", string(said))
	}
	h.Set("X-Correlation-Id", httpx.InfoFrom(ctx).CorrelationID)
}

func (r *Remote) failed(service Service) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, req *http.Request, err error) {
		gone := errors.Is(req.Context().Err(), context.Canceled)
		switch {
		case gone && unfinished(req):
			err = httpx.BodyError(os.ErrDeadlineExceeded) // the server cancels a request whose body does not come
		case gone:
			err = context.Canceled // the client has left; if it has not after all, it must not see a success
		case unfinished(req) && errors.Is(err, io.ErrUnexpectedEOF):
			err = httpx.BodyError(err)
		case errors.Is(err, context.DeadlineExceeded):
			err = errs.Newf(errs.GatewayTimeout, "The %s service did not answer in time.", service).Because(err)
		default:
			err = errs.Newf(errs.Unavailable, "The %s service cannot be reached right now; try again shortly.", service).
				WithRetryAfter(time.Second).Because(err)
		}
		r.errors.Write(w, req, err)
	}
}

// ServeHTTP hands the request on. The service's response headers replace those the gateway has prepared.
func (r *Remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if httpx.Streams(req) || strings.HasPrefix(req.URL.Path, gitPrefix) { // it goes on for as long as the service lets it
		endless, done := httpx.Endless(w, req)
		defer done()
		req = endless
	}
	if listens(req) && httpx.Streams(req) { // and until it was told that it ends
		polite := newFarewell(w, req)
		attended, done := polite.attend(req)
		defer done()
		defer polite.forgive()
		w, req = polite, attended
	} else if httpx.Streams(req) { // and at most until this process stops
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(httpx.Stopping(ctx), cancel)()
		req = req.WithContext(ctx)
	}
	if req.Body != nil && req.Body != http.NoBody {
		body := &noted{ReadCloser: req.Body}
		req = req.WithContext(context.WithValue(req.Context(), notedKey{}, body))
		req.Body = body
		httpx.Patient(w, req, remoteBodyStall) // whether it may take long, the service decides
	}
	r.proxy.ServeHTTP(&replacing{ResponseWriter: w, header: http.Header{}}, req)
}

// Close drops idle connections.
func (r *Remote) Close() { r.transport.CloseIdleConnections() }

// noted is a request body that remembers whether it was read to its end: when it was not, that is the client's fault.
type noted struct {
	io.ReadCloser
	ended atomic.Bool
}

func (n *noted) Read(b []byte) (int, error) {
	count, err := n.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		n.ended.Store(true)
	}
	return count, err
}

type notedKey struct{} // the proxy hides the body itself

func unfinished(req *http.Request) bool {
	body, ok := req.Context().Value(notedKey{}).(*noted)
	return ok && !body.ended.Load()
}

// replacing collects response headers and lets them win over those already set.
type replacing struct {
	http.ResponseWriter
	header http.Header
	sent   bool
}

func (w *replacing) Header() http.Header { return w.header }

func (w *replacing) WriteHeader(status int) {
	if !w.sent {
		target := w.ResponseWriter.Header()
		httpx.AddVary(w.header, target.Values("Vary")...) // what the gateway decides depends on headers too
		maps.Copy(target, w.header)
		w.sent = status >= http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *replacing) Write(b []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets the proxy flush and hijack.
func (w *replacing) Unwrap() http.ResponseWriter { return w.ResponseWriter }
