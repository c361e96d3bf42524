package httpx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// An internal fault shows a code and an id, and nothing else; the log has the cause under the same id.
func TestPanicIsHidden(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic("the secret cause") }, nil) //nolint:forbidigo // what the test is about
	for shape, path := range map[string]string{"flat": "/v2/x", "nested": "/v3/x"} {
		got := s.get(path)
		id := got.Header.Get("X-Correlation-Id")
		if got.StatusCode != http.StatusInternalServerError || !strings.Contains(got.text, `"internal_error"`) || strings.Contains(got.text, "secret") {
			t.Errorf("%s: %d %s", shape, got.StatusCode, got.text)
		}
		if len(s.logs.with(id, "the secret cause", "front_test.go", `"level":"ERROR"`)) != 1 {
			t.Errorf("%s: the log does not have the cause and the stack under %s", shape, id)
		}
	}
}

// A handler that fails after it began to answer does not leave something that looks whole, however it answers.
func TestHalfAnAnswerIsCut(t *testing.T) {
	t.Parallel()
	half := map[string]http.HandlerFunc{
		"/status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
		"/bytes":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"half":`) },
		"/more": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("half ", 10_000))
		},
		"/flushed": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		},
	}
	compressed, err := httpx.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		half[r.URL.Path](w, r)
		panic("half way") //nolint:forbidigo // what the test is about
	}))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, compressed.ServeHTTP, nil)
	for path := range half {
		for _, encoding := range []string{"", "gzip", "zstd"} {
			if got, err := s.try(http.MethodGet, path, nil, "Accept-Encoding", encoding); err == nil {
				t.Errorf("%s %q: %d %q looks whole", path, encoding, got.StatusCode, got.text)
			}
		}
	}
}

// A handler that asks for the connection to be cut gets that, and the request is still counted.
func TestAbortIsCounted(t *testing.T) {
	t.Parallel()
	seen := make(chan httpx.Observation, 10)
	ended := make(chan httpx.Observation, 10)
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) } //nolint:forbidigo // what the test is about
	s := serve(t, abort, func(cfg *httpx.FrontConfig) {
		cfg.Observe = func(o httpx.Observation) { seen <- o }
		cfg.Trace = func(r *http.Request) (context.Context, func(httpx.Observation)) {
			return r.Context(), func(o httpx.Observation) { ended <- o }
		}
	})
	if got, err := s.try(http.MethodPost, "/", nil); err == nil {
		t.Errorf("%d %q", got.StatusCode, got.text)
	}
	if o := <-seen; o.Method != http.MethodPost || o.Info.CorrelationID == "" {
		t.Errorf("%+v", o)
	}
	<-ended
	if len(s.logs.with(`"level":"ERROR"`)) > 0 {
		t.Error("an abort is logged as a fault")
	}
}

// What a request says about itself is not the name of a metric.
func TestMadeUpMethodsAreOneMetric(t *testing.T) {
	t.Parallel()
	seen := make(chan httpx.Observation, 10)
	s := serve(t, ok, func(cfg *httpx.FrontConfig) { cfg.Observe = func(o httpx.Observation) { seen <- o } })
	for _, method := range []string{"BREW", "get", "TRACE", strings.Repeat("X", 1000)} {
		if got := s.do(method, "/", nil); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") == "" {
			t.Errorf("%.10s: %d", method, got.StatusCode)
		}
		if o := <-seen; o.Method != "other" || o.Status != http.StatusMethodNotAllowed {
			t.Errorf("%.10s is counted as %s %d", method, o.Method, o.Status)
		}
	}
}

// The timeout ends the context of the request, and with it what the handler waits for.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		httpx.Errors{Log: slog.New(slog.DiscardHandler)}.Write(w, r, timedOut(r))
	}, func(cfg *httpx.FrontConfig) { cfg.Timeout = 20 * time.Millisecond })
	if got := s.get("/"); got.StatusCode != http.StatusGatewayTimeout || got.code() != "gateway_timeout" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func timedOut(r *http.Request) error { return fmt.Errorf("wait: %w", r.Context().Err()) }

// A request without a body may take as long as its timeout allows: nothing of the connection ends it before.
func TestWaitingHandlerIsNotCut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var wait sync.WaitGroup
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			ok(w, r)
		case <-r.Context().Done():
			t.Error("the request was cancelled")
		}
	}, func(cfg *httpx.FrontConfig) { cfg.Timeout = time.Hour })
	wait.Go(func() { s.get("/") })
	wait.Go(func() { s.do(http.MethodPost, "/", strings.NewReader("x")) })
	close(release)
	wait.Wait()
}

// The caller's address is the connection's, or what trusted proxies say of it: the last hop that is not one of them.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	address := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, httpx.InfoFrom(r.Context()).Client.String())
	}
	for name, c := range map[string]struct {
		trusted []string
		headers []string
		want    string
	}{
		"nobody trusted":             {nil, []string{"203.0.113.9"}, "127.0.0.1"},
		"not from the proxy":         {[]string{"10.0.0.0/8"}, []string{"203.0.113.9"}, "127.0.0.1"},
		"one hop":                    {[]string{"127.0.0.0/8"}, []string{"203.0.113.9"}, "203.0.113.9"},
		"a lie before the truth":     {[]string{"127.0.0.0/8"}, []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
		"a lie in its own header":    {[]string{"127.0.0.0/8"}, []string{"1.1.1.1", "203.0.113.9"}, "203.0.113.9"},
		"two proxies":                {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"1.1.1.1, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		"only proxies":               {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"10.9.9.9, 10.1.2.3"}, "10.9.9.9"},
		"nonsense":                   {[]string{"127.0.0.0/8"}, []string{"nonsense"}, "127.0.0.1"},
		"nonsense before the truth":  {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"nonsense, 10.1.2.3"}, "10.1.2.3"},
		"empty":                      {[]string{"127.0.0.0/8"}, []string{""}, "127.0.0.1"},
		"absent":                     {[]string{"127.0.0.0/8"}, nil, "127.0.0.1"},
		"IPv6":                       {[]string{"127.0.0.0/8"}, []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 with a zone":           {[]string{"127.0.0.0/8"}, []string{"fe80::1%<script>"}, "fe80::1"},
		"IPv4 written as IPv6":       {[]string{"127.0.0.0/8"}, []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"a proxy written as IPv6":    {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"203.0.113.9, ::ffff:10.1.2.3"}, "203.0.113.9"},
		"with a port, so not a host": {[]string{"127.0.0.0/8"}, []string{"203.0.113.9:1234"}, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, address, func(cfg *httpx.FrontConfig) {
				for _, network := range c.trusted {
					cfg.TrustedProxies = append(cfg.TrustedProxies, netip.MustParsePrefix(network))
				}
			})
			var headers []string
			for _, value := range c.headers {
				headers = append(headers, "X-Forwarded-For", value)
			}
			if got := s.get("/", headers...).text; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// With a proof the front takes the facts from it; without a good one nothing is served.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		info := httpx.InfoFrom(r.Context())
		_, _ = fmt.Fprint(w, info.CorrelationID, " ", info.Version, " ", r.Context().Value(trusted{}))
	}, func(cfg *httpx.FrontConfig) {
		cfg.Trust = func(r *http.Request, info *httpx.Info) (context.Context, error) {
			if r.Header.Get("Proof") != "good" {
				return nil, errs.New(errs.InvalidToken, "no").Because(errors.New("the cause"))
			}
			info.CorrelationID, info.Version, info.Shape = "from-the-gateway", "2025-01-01", httpx.ShapeNested
			return context.WithValue(r.Context(), trusted{}, "yes"), nil
		}
	})
	got := s.get("/v2/x", "Proof", "good")
	if got.text != "from-the-gateway 2025-01-01 yes" || got.Header.Get("X-Correlation-Id") != "from-the-gateway" {
		t.Errorf("%s %v", got.text, got.Header)
	}
	if got := s.get("/v2/x"); got.StatusCode != http.StatusUnauthorized || got.code() != "invalid_token" || strings.Contains(got.text, "cause") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	if got := s.get("/v2//x", "Proof", "good"); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.text, `"requestId":"from-the-gateway"`) {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

type trusted struct{}

// A stream reaches the client as it is written, also when the client could take it compressed.
func TestStreamsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	compressed, err := httpx.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: one\n")
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, "data: two\n")
	}))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, compressed.ServeHTTP, nil)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	r.Header.Set("Accept-Encoding", "gzip, zstd")
	response, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	from := bufio.NewReader(response.Body)
	if line, err := from.ReadString('\n'); line != "data: one\n" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	close(more)
	if line, err := from.ReadString('\n'); line != "data: two\n" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
}
