package oidcop_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	console      = "local-client-id"
	mobile       = "mobile"
	initialToken = "an-initial-token-for-tests"
	// verifierText is as long as a verifier must be at least.
	verifierText = "0123456789-0123456789-0123456789-0123456789"
	formType     = "application/x-www-form-urlencoded"
	everything   = "openid profile email offline_access events:read"
)

// house is a server on a clock of the test's own.
type house struct {
	*apptest.Server
	t   *testing.T
	clk *clock.Manual
}

func start(t *testing.T, settings ...string) *house {
	t.Helper()
	return startOn(t, append(settings, "DATA_DIR="+t.TempDir())...)
}

func startOn(t *testing.T, settings ...string) *house {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	listener := apptest.Listen(t)
	server := apptest.StartOn(t, clk, listener, append(settings,
		"API_URL=http://"+listener.Addr().String()+"/v2", "OIDC_CLIENT_REGISTRATION_TOKEN="+initialToken, "ACCOUNT_VALIDATION_METHOD=auto",
		`OIDC_EXTERNAL_CLIENTS=[{"client_id":"mobile","redirect_uris":["http://127.0.0.1/cb","com.example.app:/cb"]},
			{"client_id":"site","application_type":"web","redirect_uris":["https://site.test/cb","http://127.0.0.1:4000/cb"]}]`)...)
	return &house{Server: server, t: t, clk: clk}
}

// eachEngine runs a scenario on a server with SQLite and on one with PostgreSQL.
func eachEngine(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); run(t, start(t)) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, start(t, "DATABASE_URL="+sqldbtest.PostgresURL(t), "DATABASE_MAX_CONNS=8"))
	})
}

// browser follows links one at a time and keeps cookies, whatever the time is.
type browser struct {
	h       *house
	t       *testing.T
	cookies map[string]string
	header  http.Header
	http    *http.Client
}

func (h *house) browser() *browser {
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)
	return &browser{h: h, t: h.t, cookies: map[string]string{}, header: http.Header{}, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// page is an answer that a browser got.
type page struct {
	t        *testing.T
	what     string
	status   int
	location string
	header   http.Header
	body     string
}

func (b *browser) do(method, address, contentType, body string) page {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.h.URL + address
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(r.Header, b.header)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, cookie := range resp.Cookies() {
		b.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
	return page{t: b.t, what: method + " " + address, status: resp.StatusCode, location: resp.Header.Get("Location"), header: resp.Header, body: string(text)}
}

func (b *browser) get(address string) page {
	b.t.Helper()
	return b.do(http.MethodGet, address, "", "")
}

func (b *browser) postJSON(address, body string) page {
	b.t.Helper()
	return b.do(http.MethodPost, address, "application/json", body)
}

func (p page) want(status int) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: status %d, want %d: %s\n%s", p.what, p.status, status, p.location, p.body)
	}
	return p
}

// query is the query of the address that the browser is sent to.
func (p page) query() url.Values {
	p.t.Helper()
	p.want(http.StatusSeeOther)
	u, err := url.Parse(p.location)
	if err != nil {
		p.t.Fatal(err)
	}
	return u.Query()
}

// wantError fails the test unless the browser is sent back to the client with the error.
func (p page) wantError(code string) page {
	p.t.Helper()
	if got := p.query().Get("error"); got != code {
		p.t.Fatalf("%s: error %q, want %q: %s", p.what, got, code, p.location)
	}
	return p
}

// params is an authorization request of the console that is right; changes replace parameters, or remove them when empty.
func (h *house) params(changes ...string) url.Values {
	h.t.Helper()
	hash := sha256.Sum256([]byte(verifierText))
	params := url.Values{
		"client_id": {console}, "redirect_uri": {h.URL + "/signin"}, "response_type": {"code"}, "scope": {everything}, "state": {"st"}, "nonce": {"no"},
		"code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(hash[:])},
	}
	for i := 0; i < len(changes); i += 2 {
		params.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			params.Del(changes[i])
		}
	}
	return params
}

func (b *browser) authorize(params url.Values) page {
	b.t.Helper()
	return b.get("/oidc/auth?" + params.Encode())
}

// signIn signs the super admin in at the page an authorization was sent to, and gives the address to go on with.
func (b *browser) signIn(at page) string {
	b.t.Helper()
	return b.signInAs(at, apptest.AdminEmail, apptest.AdminPassword)
}

func (b *browser) signInAs(at page, email, password string) string {
	b.t.Helper()
	uid := at.query().Get("interaction")
	if uid == "" {
		b.t.Fatalf("%s: sent to %s, not to the sign-in page", at.what, at.location)
	}
	form := url.Values{"login": {email}, "password": {password}}
	return b.do(http.MethodPost, "/oidc/interaction/"+uid+"/login", formType, form.Encode()).want(http.StatusSeeOther).location
}

// code goes through a whole authorization.
func (b *browser) code(params url.Values) string {
	b.t.Helper()
	at := b.authorize(params)
	if at.query().Has("interaction") {
		at = b.get(b.signIn(at))
	}
	code := at.query().Get("code")
	if code == "" {
		b.t.Fatalf("%s: no code: %s", at.what, at.location)
	}
	return code
}

// post sends a form as a program does.
func (h *house) post(path string, form url.Values) *apptest.Response {
	h.t.Helper()
	return h.Anyone().With("Content-Type", formType).Post(path, form.Encode())
}

// exchange is a token request that is right for the code of params.
func exchange(code string, params url.Values, changes ...string) url.Values {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {params.Get("redirect_uri")},
		"client_id": {params.Get("client_id")}, "code_verifier": {verifierText},
	}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			form.Del(changes[i])
		}
	}
	return form
}

// tokens are what a client has after an authorization.
type tokens struct {
	Access  string `json:"access_token"`
	ID      string `json:"id_token"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
}

func (b *browser) tokens(params url.Values) tokens {
	b.t.Helper()
	var got tokens
	b.h.post("/oidc/token", exchange(b.code(params), params)).Want(http.StatusOK).Into(&got)
	return got
}

// redeem sends a token request as a page in the browser does.
func (b *browser) redeem(form url.Values) page {
	b.t.Helper()
	return b.do(http.MethodPost, "/oidc/token", formType, form.Encode())
}

func (p page) tokens() (got tokens) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.want(http.StatusOK).body), &got); err != nil {
		p.t.Fatal(err)
	}
	return got
}

func refreshForm(clientID, token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {clientID}, "refresh_token": {token}}
}

// wantOAuth fails the test unless the answer is the OAuth error.
func wantOAuth(t *testing.T, got *apptest.Response, status int, code string) {
	t.Helper()
	if got.Status != status || got.Text("error") != code || got.Text("error_description") == "" {
		t.Errorf("got %d %s, want %d %s", got.Status, got.Body, status, code)
	}
}

func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// register makes a client.
func (h *house) register(body map[string]any) *apptest.Response {
	h.t.Helper()
	c := h.Anyone()
	c.Token = initialToken
	return c.Post("/oidc/reg", body)
}
