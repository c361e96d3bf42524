package federation_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a server and its providers, on one clock.
type house struct {
	*apptest.Server
	t   *testing.T
	clk *clock.Manual
}

// setup is what a house is made of; the zero value has no providers.
type setup struct {
	clk *clock.Manual
	// providers are lines of the file below each slug.
	providers map[string]string
	settings  []string
}

// newClock is ahead of the browser's own clock, for which a cookie must not have expired.
func newClock() *clock.Manual { return clock.NewManual(time.Date(2080, 11, 1, 12, 0, 0, 0, time.UTC)) }

// provided is a setup with one provider, acme.
func provided(p *idp, lines ...string) setup {
	return setup{clk: p.clk, providers: map[string]string{"acme": p.lines(lines...)}}
}

func (s setup) with(slug string, p *idp, lines ...string) setup {
	s.providers = maps.Clone(s.providers)
	s.providers[slug] = p.lines(lines...)
	return s
}

func start(t *testing.T, s setup) *house {
	t.Helper()
	return startOn(t, s, "DATA_DIR="+t.TempDir())
}

func startOn(t *testing.T, s setup, settings ...string) *house {
	t.Helper()
	return startAt(t, apptest.Listen(t), s, settings...)
}

func startAt(t *testing.T, listener net.Listener, s setup, settings ...string) *house {
	t.Helper()
	var file strings.Builder
	file.WriteString("providers:\n")
	for slug, lines := range s.providers {
		file.WriteString("  " + slug + ":\n" + lines)
	}
	path := filepath.Join(t.TempDir(), "providers.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	settings = append(settings, s.settings...) // the first of two equal names counts
	server := apptest.StartOn(t, s.clk, listener, append(settings,
		"RATE_LIMIT_TOKEN_EXCHANGE=100000", "RATE_LIMIT_ADDRESS=1000000", "AUTH_PROVIDERS_CONFIG="+path, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8", "API_URL=http://"+listener.Addr().String()+"/v2")...)
	return &house{Server: server, t: t, clk: s.clk}
}

// eachEngine runs a scenario on a server with SQLite and on one with PostgreSQL.
func eachEngine(t *testing.T, s func() setup, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); run(t, start(t, s())) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, startOn(t, s(), "DATABASE_URL="+sqldbtest.PostgresURL(t), "DATABASE_MAX_CONNS=8", "DATA_DIR="+t.TempDir()))
	})
}

// browser follows links one at a time, and keeps cookies.
type browser struct {
	t    *testing.T
	http *http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, http: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is an answer that a browser got.
type page struct {
	t        *testing.T
	status   int
	location string
	header   http.Header
	body     string
}

func (b *browser) get(address string) page {
	b.t.Helper()
	return b.do(http.MethodGet, address, "", nil)
}

func (b *browser) do(method, address, body string, header http.Header) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{t: b.t, status: resp.StatusCode, location: resp.Header.Get("Location"), header: resp.Header, body: string(text)}
}

func (p page) want(status int) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("status %d, want %d: %s %s", p.status, status, p.location, p.body)
	}
	return p
}

// wantReason fails the test unless the browser is sent to the sign-in page with the reason.
func (p page) wantReason(reason string) page {
	p.t.Helper()
	p.want(http.StatusFound)
	u, err := url.Parse(p.location)
	if err != nil || u.Path != "/signin" || u.Query().Get("error") != reason {
		p.t.Fatalf("sent to %s, want /signin?error=%s", p.location, reason)
	}
	return p
}

// depart begins a sign-in and lets the provider answer; it gives the address of the callback.
func (b *browser) depart(h *house, query string) string {
	b.t.Helper()
	away := b.get(h.URL + "/v2/login?" + query).want(http.StatusFound)
	return b.get(away.location).want(http.StatusFound).location
}

// signIn signs in and gives the last answer.
func (b *browser) signIn(h *house, query string) page {
	b.t.Helper()
	return b.get(b.depart(h, query))
}

// me is the account that the browser is signed in to; nil when to none.
func (b *browser) me(h *house) *apptest.Response {
	b.t.Helper()
	base, err := url.Parse(h.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cookie := range b.http.Jar.Cookies(base) {
		if cookie.Name == "access-token" {
			c := h.Anyone()
			c.Token = cookie.Value
			return c.Get("/v2/me")
		}
	}
	return nil
}

// client is an API client with the session of the browser.
func (b *browser) client(h *house) *apptest.Client {
	b.t.Helper()
	base, _ := url.Parse(h.URL)
	c := h.Anyone()
	for _, cookie := range b.http.Jar.Cookies(base) {
		if cookie.Name == "access-token" {
			c.Token = cookie.Value
		}
	}
	return c
}

// wantSignedIn signs in with a new browser and gives the account's id.
func (h *house) wantSignedIn(query string) string {
	h.t.Helper()
	b := newBrowser(h.t)
	b.signIn(h, query).want(http.StatusFound)
	me := b.me(h)
	if me == nil {
		h.t.Fatal("nobody is signed in")
	}
	return me.Want(http.StatusOK).Text("id")
}

// wantRefused signs in with a new browser, which must end on the sign-in page with the reason and signed in to nothing.
func (h *house) wantRefused(query, reason string) {
	h.t.Helper()
	b := newBrowser(h.t)
	b.signIn(h, query).wantReason(reason)
	if b.me(h) != nil {
		h.t.Fatalf("signed in although the sign-in was refused: %s", reason)
	}
}

// failures lists the reasons of the sign-ins that the audit trail says have failed.
func (h *house) failures() []string {
	h.t.Helper()
	events := h.Admin().Get("/v2/workspaces/platform/events?types=gateway.login.failed&sort=asc&limit=100").Want(http.StatusOK)
	var body struct {
		Result struct {
			Events []struct {
				Payload struct{ Provider, Reason, IP string }
			}
		}
	}
	events.Into(&body)
	var all []string
	for _, e := range body.Result.Events {
		all = append(all, fmt.Sprintf("%s %s %s", e.Payload.Provider, e.Payload.Reason, e.Payload.IP))
	}
	return all
}
