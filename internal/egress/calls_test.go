package egress_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/egress"
	"atelier/internal/errs"
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func redirectTo(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
}

func TestAllowedServerIsReached(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, "127.0.0.1", hello)
	if got, err := newGuard(t, "127.0.0.1").get(t, base); err != nil || got != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEveryFailureLooksTheSame(t *testing.T) {
	t.Parallel()
	open, _ := serve(t, "127.0.0.2", hello)
	cutHeader, _ := serve(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) { cut(t, w) })
	cutBody, _ := serve(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "some")
		_ = http.NewResponseController(w).Flush()
		cut(t, w)
	})
	closed, _ := serve(t, "127.0.0.1", hello)
	_, closedPort, _ := strings.Cut(strings.TrimPrefix(closed, "http://"), ":")
	guard := newGuard(t, "127.0.0.1")
	guard.Resolve((&names{}).resolver(t))
	for name, url := range map[string]string{
		"forbidden, open":        open,
		"forbidden, any port":    "http://127.0.0.3:" + closedPort,
		"allowed, nobody there":  "http://127.0.0.1:" + unusedPort(t),
		"allowed, not HTTP":      "https://127.0.0.1:" + closedPort,
		"connection cut at once": cutHeader,
		"connection cut later":   cutBody,
		"no such name":           "http://nothing.example",
	} {
		_, err := guard.get(t, url)
		if err == nil {
			t.Errorf("%s: the call succeeded", name)
			continue
		}
		wantHidden(t, err)
	}
}

// cut closes the connection under a handler's feet.
func cut(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close()
}

func unusedPort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// B-SRF-03: an allowed server cannot lead the client to a forbidden one.
func TestRedirectToForbiddenAddress(t *testing.T) {
	t.Parallel()
	forbidden, port := serve(t, "127.0.0.2", func(http.ResponseWriter, *http.Request) { t.Error("the forbidden server was asked") })
	for _, target := range []string{
		forbidden, "http://127.2:" + port, "http://2130706434:" + port, "http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://sneaky.example:" + port,
		"file:///etc/passwd", "gopher://127.0.0.2:" + port, "//127.0.0.2:" + port, "http://user:pass@127.0.0.1/",
	} {
		guard := newGuard(t, "127.0.0.1")
		guard.Resolve((&names{answers: map[string][][]string{"sneaky.example": {{"127.0.0.2"}}}}).resolver(t))
		base, _ := serve(t, "127.0.0.1", redirectTo(target))
		_, err := guard.get(t, base)
		if err == nil {
			t.Errorf("%s: the call succeeded", target)
			continue
		}
		wantHidden(t, err)
		if allowed, _ := guard.dials(); len(allowed) != 1 {
			t.Errorf("%s: dialled %v, want the first server only", target, allowed)
		}
	}
}

func TestRedirectsAreCounted(t *testing.T) {
	t.Parallel()
	for hops, want := range map[int]bool{0: true, 1: true, 5: true, 6: false, 100: false} {
		base, _ := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
			var n int
			if _, _ = fmt.Sscanf(r.URL.Path, "/%d", &n); n == 0 {
				hello(w, r)
				return
			}
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusTemporaryRedirect)
		})
		got, err := newGuard(t, "127.0.0.1").get(t, fmt.Sprintf("%s/%d", base, hops))
		if want && (err != nil || got != "hello") {
			t.Errorf("%d redirects: %q, %v", hops, got, err)
		}
		if !want {
			wantHidden(t, err)
		}
	}
}

// seen is what of a request's headers arrived.
func seen(r *http.Request) map[string]string {
	got := map[string]string{}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Private-Token", "Referer", "Accept", "User-Agent"} {
		if value := r.Header.Get(name); value != "" {
			got[name] = value
		}
	}
	return got
}

func TestSecretsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "Private-Token": "p", "Accept": "text/html", "User-Agent": "atelier",
	}
	harmless := map[string]string{"Accept": "text/html", "User-Agent": "atelier"}
	arrived := make(chan map[string]string, 1)
	answer := func(w http.ResponseWriter, r *http.Request) { arrived <- seen(r); hello(w, r) }

	var base string
	other, _ := serve(t, "127.0.0.2", answer)
	returning, _ := serve(t, "127.0.0.2", func(w http.ResponseWriter, r *http.Request) { redirectTo(base+"/end")(w, r) })
	base, _ = serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/end", http.StatusPermanentRedirect)
		case "/there":
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, returning, http.StatusFound)
		default:
			answer(w, r)
		}
	})
	port, _ := serve(t, "127.0.0.1", redirectTo(base+"/end"))

	guard := newGuard(t, "127.0.0.0/8")
	for name, c := range map[string]struct {
		url  string
		want map[string]string
	}{
		"no redirect":          {base + "/end", all},
		"same host":            {base + "/here", with(all, "Referer", base+"/here")},
		"other host":           {base + "/there", harmless},
		"other port":           {port, harmless},
		"other host, and back": {base + "/away", harmless},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range all {
			r.Header.Set(key, value)
		}
		resp, err := guard.Client().Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = resp.Body.Close()
		if diff := cmp.Diff(c.want, <-arrived); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	maps.Copy(out, m)
	return out
}

// B-SRF-02: the name meant an allowed address when it was checked and another one when it is called again.
func TestRebinding(t *testing.T) {
	t.Parallel()
	_, port := serve(t, "127.0.0.1", hello)
	guard := newGuard(t, "127.0.0.1")
	guard.Resolve((&names{answers: map[string][][]string{"rebinding.example": {{"127.0.0.1"}, {"10.0.0.1"}}}}).resolver(t))
	url := "http://rebinding.example:" + port
	if got, err := guard.get(t, url); err != nil || got != "hello" {
		t.Fatalf("the first call: %q, %v", got, err)
	}
	guard.Client().CloseIdleConnections()
	_, err := guard.get(t, url)
	wantHidden(t, err)
	allowed, refused := guard.dials()
	if diff := cmp.Diff([]string{"10.0.0.1:" + port}, refused); diff != "" || len(allowed) != 1 {
		t.Errorf("dialled %v, refused (-want +got):\n%s", allowed, diff)
	}
}

func TestMixedAnswers(t *testing.T) {
	t.Parallel()
	_, port := serve(t, "127.0.0.1", hello)
	guard := newGuard(t, "127.0.0.1")
	guard.Resolve((&names{answers: map[string][][]string{"mixed.example": {{"10.0.0.1", "169.254.169.254", "127.0.0.1"}}}}).resolver(t))
	if got, err := guard.get(t, "http://mixed.example:"+port); err != nil || got != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	if allowed, _ := guard.dials(); len(allowed) != 1 || allowed[0] != "127.0.0.1:"+port {
		t.Errorf("dialled %v", allowed)
	}
}

func TestEnvironmentProxiesAreIgnored(t *testing.T) {
	proxy, _ := serve(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy)
	}
	guard := newGuard(t)
	_, err := guard.get(t, "http://8.8.8.8/") // loopback targets never use a proxy, so they would prove nothing
	wantHidden(t, err)
	if allowed, refused := guard.dials(); len(allowed) != 1 || allowed[0] != "8.8.8.8:80" || len(refused) != 0 {
		t.Errorf("dialled %v, refused %v, want the target itself", allowed, refused)
	}
	if guard.Proxied() {
		t.Error("the transport asks for a proxy")
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1000)) })
	guard := newGuard(t, "127.0.0.1")
	for limit, want := range map[int64]bool{999: false, 1000: true, 1001: true, 0: false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := guard.Client().Do(r) //nolint:bodyclose // ReadBody does
		if err != nil {
			t.Fatal(err)
		}
		data, err := egress.ReadBody(resp, limit)
		if want && (err != nil || len(data) != 1000) || !want && (data != nil || errs.CodeOf(err) != errs.Unavailable) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(data), err)
		}
	}
}

func TestRefusedRequestClosesItsBody(t *testing.T) {
	t.Parallel()
	b := &closeable{Reader: strings.NewReader("x")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://10.0.0.1/", b)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newGuard(t).Transport().RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	wantHidden(t, err)
	if !b.closed {
		t.Error("the body stays open")
	}
}

type closeable struct {
	io.Reader
	closed bool
}

func (c *closeable) Close() error {
	c.closed = true
	return nil
}

func TestClientsAreIndependent(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, "127.0.0.1", redirectTo("http://127.0.0.1/elsewhere"))
	guard := newGuard(t, "127.0.0.1")
	strict := guard.Client()
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := strict.Do(r)
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Fatalf("got %v, %v, want the redirect itself", resp, err)
	}
	_ = resp.Body.Close()
	next := guard.Client()
	if err := next.CheckRedirect(r, []*http.Request{r}); err != nil || next == strict {
		t.Errorf("another client changed too: %v", err)
	}
}
