package oidcop_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

func TestLogout(t *testing.T) {
	t.Parallel()
	h := start(t)
	home := h.URL + "/signin"
	end := func(b *browser, params ...string) page {
		query := url.Values{}
		for i := 0; i < len(params); i += 2 {
			query.Set(params[i], params[i+1])
		}
		return b.get("/oidc/session/end?" + query.Encode())
	}
	signed := func() (*browser, tokens) {
		b := h.browser()
		return b, b.tokens(h.params())
	}
	b, got := signed()
	for name, params := range map[string][]string{
		"address without a client": {"post_logout_redirect_uri", home},
		"another address":          {"client_id", console, "post_logout_redirect_uri", "https://evil.test/"},
		"longer address":           {"id_token_hint", got.ID, "post_logout_redirect_uri", home + "/x"},
		"junk hint, junk client":   {"id_token_hint", "junk", "client_id", "x", "post_logout_redirect_uri", home},
		"hint of another client":   {"id_token_hint", got.ID, "client_id", mobile},
		"unknown client":           {"client_id", "x", "post_logout_redirect_uri", home},
	} {
		if got := end(b, params...); got.status != http.StatusBadRequest || got.location != "" {
			t.Errorf("%s: %d %s", name, got.status, got.location)
		}
	}
	asked := end(b, "client_id", console, "post_logout_redirect_uri", home, "state", `"><script>`).want(http.StatusOK)
	if strings.Contains(asked.body, "<script>") || !strings.Contains(asked.body, `name="client_id"`) {
		t.Errorf("the person is asked with %s", asked.body)
	}
	b.header.Set("Sec-Fetch-Site", "cross-site")
	b.do(http.MethodPost, "/oidc/session/end", formType, "client_id="+console).want(http.StatusOK) // asked again
	b.header.Del("Sec-Fetch-Site")
	if !b.authorize(h.params()).query().Has("code") {
		t.Fatal("signed out without having agreed")
	}
	out := b.do(http.MethodPost, "/oidc/session/end", formType, url.Values{"client_id": {console}, "post_logout_redirect_uri": {home}, "state": {"s 1"}}.Encode())
	if out.want(http.StatusSeeOther).location != home+"?state=s+1" {
		t.Errorf("sent to %s", out.location)
	}
	checkSignedOut(t, h, b, got, out)

	b, got = signed()
	out = end(b, "id_token_hint", got.ID, "post_logout_redirect_uri", home)
	if out.location != home {
		t.Errorf("sent to %s", out.location)
	}
	checkSignedOut(t, h, b, got, out)
	if out = end(b); out.want(http.StatusSeeOther).location != h.URL+"/signedout" {
		t.Errorf("nobody is sent to %s", out.location)
	}
}

// checkSignedOut wants the cookies cleared with the attributes they were set with, and everything of the session ended.
func checkSignedOut(t *testing.T, h *house, b *browser, had tokens, out page) {
	t.Helper()
	for _, cookie := range out.header.Values("Set-Cookie") {
		if !strings.Contains(cookie, "Path=/;") || !strings.Contains(cookie, "Max-Age=0") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
			t.Errorf("a cookie is cleared with %s", cookie)
		}
	}
	if len(b.cookies) != 0 {
		t.Errorf("the browser keeps %v", b.cookies)
	}
	me := h.Anyone()
	me.Token = had.Access
	me.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
	wantOAuth(t, h.post("/oidc/token", refreshForm(console, had.Refresh)), 400, "invalid_grant")
	if !b.authorize(h.params()).query().Has("interaction") {
		t.Error("the browser is still signed in")
	}
}

func TestNoticeStyleHasItsHash(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.code(h.params())
	shown := b.get("/oidc/session/end").want(http.StatusOK)
	text, err := os.ReadFile("notice.html")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if !strings.Contains(shown.header.Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy is %s", shown.header.Get("Content-Security-Policy"))
	}
}

// Somebody whose client holds an ID token that cannot be verified any more can sign out all the same, when asked.
func TestLogoutWithoutAHint(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	got := b.tokens(h.params())
	home := url.QueryEscape(h.URL + "/signin")
	for _, junk := range []string{"junk", got.Access, got.ID + "x"} {
		asked := b.get("/oidc/session/end?post_logout_redirect_uri=" + home + "&id_token_hint=" + junk).want(http.StatusOK)
		if strings.Contains(asked.body, "post_logout_redirect_uri") || asked.header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("asked with %s %v", asked.body, asked.header)
		}
	}
	b.get("/oidc/session/end?client_id=" + console + "&post_logout_redirect_uri=" + home + "&id_token_hint=junk").want(http.StatusOK)
	if !b.authorize(h.params()).query().Has("code") {
		t.Fatal("signed out without having agreed")
	}
}

// Of a person who is asked, the form says again which client it was.
func TestLogoutFormNamesTheClient(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.Anyone().Post("/v2/signup", map[string]any{"email": "u@example.test", "password": "a long password", "firstName": "U", "lastName": "V"}).Want(http.StatusCreated)
	b := h.browser()
	hint := h.browser().tokens(h.params()).ID // of somebody else
	b.get(b.signInAs(b.authorize(h.params()), "u@example.test", "a long password")).want(http.StatusSeeOther)
	local := "http://127.0.0.1:5173/signin"
	asked := b.get("/oidc/session/end?" + url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {local}}.Encode()).want(http.StatusOK)
	form := url.Values{}
	for _, name := range []string{"client_id", "post_logout_redirect_uri"} {
		_, rest, _ := strings.Cut(asked.body, `name="`+name+`" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		form.Set(name, value)
	}
	b.header.Set("Origin", h.URL)
	out := b.do(http.MethodPost, "/oidc/session/end", formType, form.Encode())
	if out.want(http.StatusSeeOther).location != local {
		t.Errorf("sent to %s", out.location)
	}
	for _, evil := range []string{"http://127.0.0.1:5173/other", "http://127.0.0.1.evil.test/signin", "https://127.0.0.1:5173/signin"} {
		b.get("/oidc/session/end?" + url.Values{"client_id": {console}, "post_logout_redirect_uri": {evil}}.Encode()).want(http.StatusBadRequest)
	}
}
