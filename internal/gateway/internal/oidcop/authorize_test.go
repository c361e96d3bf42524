package oidcop_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

func TestCodeFlow(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		b := h.browser()
		params := h.params()
		at := b.authorize(params)
		if !strings.HasPrefix(at.location, h.URL+"/signin?") {
			t.Errorf("sent to %s", at.location)
		}
		back := b.get(b.signIn(at))
		if q := back.query(); q.Get("state") != "st" || q.Get("iss") != h.URL || !strings.HasPrefix(back.location, h.URL+"/signin?") {
			t.Errorf("sent back to %s", back.location)
		}
		answer := b.redeem(exchange(back.query().Get("code"), params)).want(http.StatusOK)
		got := answer.tokens()
		if got.Type != "Bearer" || got.Expires != 2592000 || got.Scope != everything || got.Refresh == "" {
			t.Errorf("got %s", answer.body)
		}
		if cookie := answer.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "access-token="+got.Access+";") || !strings.Contains(cookie, "HttpOnly") {
			t.Errorf("the cookie is %q", cookie)
		}
		checkAccessToken(t, h, got.Access)
		checkIDToken(t, h, got)
		me := h.Anyone()
		me.Token = got.Access
		me.Get("/v2/me").Want(http.StatusOK)
		if second := b.authorize(h.params()); second.query().Get("code") == "" {
			t.Errorf("a browser that is signed in is asked again: %s", second.location)
		}
	})
}

func checkAccessToken(t *testing.T, h *house, token string) {
	t.Helper()
	claims := claimsOf(t, token)
	var names []string
	for name := range claims {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "aud client_id exp iat iss jti scope sub svcSessionId" {
		t.Errorf("the access token says %s", got)
	}
	if claims["aud"] != h.URL+"/v2" || claims["iss"] != h.URL || claims["client_id"] != console || claims["scope"] != "openid profile email events:read" {
		t.Errorf("the access token says %v", claims)
	}
}

func checkIDToken(t *testing.T, h *house, got tokens) {
	t.Helper()
	claims := claimsOf(t, got.ID)
	hash := sha256.Sum256([]byte(got.Access))
	now := float64(h.clk.Now().Unix())
	for name, want := range map[string]any{
		"iss": h.URL, "nonce": "no", "azp": console, "iat": now, "exp": now + 3600, "auth_time": now,
		"at_hash": base64.RawURLEncoding.EncodeToString(hash[:16]), "sub": claimsOf(t, got.Access)["sub"],
	} {
		if claims[name] != want {
			t.Errorf("the ID token says %s = %v, want %v", name, claims[name], want)
		}
	}
	c := h.Anyone()
	c.Token = got.ID
	c.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
	c.Get("/oidc/me").Want(http.StatusUnauthorized)
}

// B-OID-01: an address that the client did not register, to the letter, is never redirected to.
func TestRedirectURI(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	for client, addresses := range map[string][]string{
		console: {
			"", h.URL + "/signin/", h.URL + "/signin?x=1", h.URL + "/signin#f", h.URL + "/sign", h.URL + "/signin/../x", h.URL + "@evil.test/signin",
			strings.Replace(h.URL, "http://", "http://evil.test@", 1) + "/signin", h.URL + "/%73ignin", strings.ToUpper(h.URL) + "/signin",
			"https" + strings.TrimPrefix(h.URL, "http") + "/signin", h.URL + "\\@evil.test/signin", "//evil.test/signin", "javascript:alert(1)",
			"http://localhost.evil.test/signin", "http://localhost:1@evil.test/signin", "http://localhost:/signin", "http://localhost:99999/signin",
			"http://127.0.0.2/signin", "http://[::2]/signin", "http://2130706433/signin", "http://localhost:80/signin/x", "https://localhost/signin",
			"http://localhost\\@evil.test/signin", "http://xn--lcalhost-2jg/signin", h.URL + "/v2/login?return_to=//evil.test",
		},
		mobile: {
			"http://localhost/cb", "http://127.0.0.1/cb/", "http://127.0.0.1:80/other", "http://[::1]/cb", "https://127.0.0.1/cb", "com.example.app:/cb2",
			"com.example.app://cb", "http://127.0.0.1:0/cb", "http://127.0.0.1.evil.test/cb", "http://127.0.0.1:x/cb",
		},
		"site":    {"http://127.0.0.1:4001/cb", "http://127.0.0.1/cb", "https://site.test:443/cb", "https://site.test/cb?", "https://sub.site.test/cb"},
		"unknown": {h.URL + "/signin"},
		"":        {h.URL + "/signin"},
	} {
		for _, address := range addresses {
			if got := b.authorize(h.params("client_id", client, "redirect_uri", address)); got.status != http.StatusBadRequest || got.location != "" {
				t.Errorf("%s %s: %d %s", client, address, got.status, got.location)
			}
		}
	}
	for client, addresses := range map[string][]string{
		console: {h.URL + "/signin", h.URL + "/", "http://localhost:5173/signin", "http://127.0.0.1:1/callback"},
		mobile:  {"http://127.0.0.1/cb", "http://127.0.0.1:50123/cb", "com.example.app:/cb"},
		"site":  {"https://site.test/cb", "http://127.0.0.1:4000/cb"},
	} {
		for _, address := range addresses {
			b.authorize(h.params("client_id", client, "redirect_uri", address)).want(http.StatusSeeOther)
		}
	}
}

// B-OID-02 and B-OID-05: what is wrong after that goes back to the client, in the words of OAuth.
func TestAuthorizationErrors(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.code(h.params()) // signed in: nothing but the request itself can stop a code
	for _, test := range []struct {
		name, value, want string
	}{
		{"code_challenge", "", "invalid_request"},
		{"code_challenge", "short", "invalid_request"},
		{"code_challenge", strings.Repeat("A", 44), "invalid_request"},
		{"code_challenge", strings.Repeat("/", 43), "invalid_request"},
		{"code_challenge_method", "", "invalid_request"},
		{"code_challenge_method", "plain", "invalid_request"},
		{"code_challenge_method", "s256", "invalid_request"},
		{"response_type", "", "invalid_request"},
		{"response_type", "token", "unsupported_response_type"},
		{"response_type", "id_token token", "unsupported_response_type"},
		{"response_type", "code id_token", "unsupported_response_type"},
		{"response_type", "CODE", "unsupported_response_type"},
		{"response_mode", "fragment", "invalid_request"},
		{"response_mode", "form_post", "invalid_request"},
		{"response_mode", "'", "invalid_request"},
		{"prompt", "none login", "invalid_request"},
		{"prompt", "junk", "invalid_request"},
		{"max_age", "-1", "invalid_request"},
		{"max_age", "1e9", "invalid_request"},
		{"max_age", "99999999999999999999", "invalid_request"},
		{"request", "e30.e30.", "request_not_supported"},
		{"request_uri", "https://evil.test/r", "request_uri_not_supported"},
		{"registration", "{}", "registration_not_supported"},
		{"claims", "{", "invalid_request"},
		{"resource", "https://other.test", "invalid_target"},
		{"scope", "", "invalid_scope"},
		{"scope", "unknown *", "invalid_scope"},
		{"id_token_hint", "e30.e30.e30", "invalid_request"},
		{"id_token_hint", h.Admin().Token, "invalid_request"},
	} {
		got := b.authorize(h.params(test.name, test.value))
		if q := got.query(); q.Get("error") != test.want || q.Get("state") != "st" || q.Get("iss") != h.URL || q.Has("code") {
			t.Errorf("%s=%q: %s", test.name, test.value, got.location)
		}
	}
	for name, query := range map[string]string{
		"repeated parameter": h.params().Encode() + "&scope=openid",
		"repeated client":    h.params().Encode() + "&client_id=" + mobile,
		"broken encoding":    h.params().Encode() + "&x=%zz",
		"state of 3 KB":      h.params("state", strings.Repeat("s", 3000)).Encode(),
		"nonce of 3 KB":      h.params("nonce", strings.Repeat("n", 3000)).Encode(),
	} {
		if got := b.get("/oidc/auth?" + query); got.status != http.StatusBadRequest || got.location != "" {
			t.Errorf("%s: %d %s", name, got.status, got.location)
		}
	}
	for _, unminded := range [][2]string{{"display", "junk"}, {"ui_locales", "\"><script>"}, {"acr_values", "x"}, {"scope", "openid unknown"}, {"claims", "{}"}} {
		if got := b.authorize(h.params(unminded[0], unminded[1])); got.query().Get("code") == "" {
			t.Errorf("%s=%s: %s", unminded[0], unminded[1], got.location)
		}
	}
}

func TestAuthorizationByForm(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.do(http.MethodPost, "/oidc/auth", formType, h.params().Encode()).want(http.StatusSeeOther)
	b.do(http.MethodPost, "/oidc/auth?client_id="+console, formType, h.params().Encode()).want(http.StatusBadRequest)
	b.do(http.MethodPost, "/oidc/auth", "application/json", "{}").want(http.StatusUnsupportedMediaType)
	b.do(http.MethodPost, "/oidc/auth", formType, h.params("state", strings.Repeat("s", 10_000)).Encode()).want(http.StatusBadRequest)
	b.do(http.MethodPost, "/oidc/auth", formType, strings.Repeat("a", 70_000)).want(http.StatusRequestEntityTooLarge)
	b.header.Set("Accept", "text/html")
	shown := b.get("/oidc/auth?client_id=%3Cscript%3E&redirect_uri=x").want(http.StatusBadRequest)
	if !strings.HasPrefix(shown.header.Get("Content-Type"), "text/html") || strings.Contains(shown.body, "<script>") {
		t.Errorf("a person sees %s", shown.body)
	}
}

// B-OID-04: an interaction belongs to the browser that began it, and gives one code.
func TestInteractionIsBound(t *testing.T) {
	t.Parallel()
	h := start(t)
	victim, attacker := h.browser(), h.browser()
	at := attacker.authorize(h.params())
	uid := at.query().Get("interaction")
	victim.authorize(h.params()) // has a cookie of its own
	form := url.Values{"login": {apptest.AdminEmail}, "password": {apptest.AdminPassword}}.Encode()
	for _, b := range []*browser{victim, h.browser()} {
		b.do(http.MethodPost, "/oidc/interaction/"+uid+"/login", formType, form).want(http.StatusNotFound)
		b.get("/oidc/interaction/" + uid + "/details").want(http.StatusNotFound)
		b.get("/oidc/auth/" + uid).want(http.StatusNotFound)
		b.postJSON("/oidc/interaction/"+uid+"/consent", `{"allow":true}`).want(http.StatusNotFound)
	}
	resume := attacker.signIn(at)
	attacker.get(resume).want(http.StatusSeeOther)
	attacker.get(resume).want(http.StatusNotFound)

	other := h.browser()
	at = other.authorize(h.params())
	h.clk.Advance(10*time.Minute + time.Second)
	other.do(http.MethodPost, "/oidc/interaction/"+at.query().Get("interaction")+"/login", formType, form).want(http.StatusNotFound)
}

func TestSignInForm(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	at := b.authorize(h.params("login_hint", "me@example.test", "locale", "fr"))
	uid := at.query().Get("interaction")
	if at.query().Get("lang") != "fr" {
		t.Errorf("sent to %s", at.location)
	}
	details := b.get("/oidc/interaction/" + uid + "/details").want(http.StatusOK)
	if want := `{"client":{"id":"local-client-id","name":"Atelier","firstParty":true},"scopes":["openid","profile","email","offline_access","events:read"],` +
		`"redirect":"` + strings.TrimPrefix(h.URL, "http://") + `","prompt":"login","loginHint":"me@example.test","locale":"fr","resume":"` + h.URL + `/oidc/auth/` + uid + `"}`; details.body != want {
		t.Errorf("the page is told %s", details.body)
	}
	login := "/oidc/interaction/" + uid + "/login"
	good := `{"login":"` + apptest.AdminEmail + `","password":"` + apptest.AdminPassword + `","remember":false}`
	b.postJSON(login, `{"login":"admin@example.test","password":"wrong"}`).want(http.StatusUnauthorized)
	b.postJSON(login, `{"login":"admin@example.test"}`).want(http.StatusUnprocessableEntity)
	b.postJSON(login, `{"login":"a","password":"b","admin":true}`).want(http.StatusUnprocessableEntity)
	b.postJSON(login, `{`).want(http.StatusBadRequest)
	b.do(http.MethodPost, login, "text/plain", good).want(http.StatusUnsupportedMediaType)
	b.do(http.MethodPost, login+"?login=x", formType, "password=y").want(http.StatusBadRequest)
	b.header.Set("Sec-Fetch-Site", "cross-site")
	b.postJSON(login, good).want(http.StatusForbidden)
	b.header.Set("Sec-Fetch-Site", "same-origin")
	signed := b.postJSON(login, good).want(http.StatusSeeOther)
	for _, cookie := range signed.header.Values("Set-Cookie") {
		if strings.Contains(cookie, "Expires") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
			t.Errorf("a browser that is not to be remembered gets %s", cookie)
		}
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.authorize(h.params("prompt", "none")).wantError("login_required")
	got := b.tokens(h.params())
	if b.authorize(h.params("prompt", "none")).query().Get("code") == "" {
		t.Error("prompt=none gives no code to a browser that is signed in")
	}
	h.clk.Advance(time.Minute)
	for name, changes := range map[string][]string{
		"prompt=login": {"prompt", "login"}, "select_account": {"prompt", "select_account"}, "max_age": {"max_age", "59"}, "max_age=0": {"max_age", "0"},
	} {
		at := b.authorize(h.params(changes...))
		uid := at.query().Get("interaction")
		if back := b.get("/oidc/auth/" + uid); back.query().Get("interaction") != uid {
			t.Errorf("%s: passed without signing in: %s", name, back.location)
		}
		if back := b.get(b.signIn(at)); back.query().Get("code") == "" {
			t.Errorf("%s: no code after signing in again: %s", name, back.location)
		}
		h.clk.Advance(time.Minute)
	}
	b.authorize(h.params("prompt", "none", "max_age", "1")).wantError("login_required")
	if b.authorize(h.params("max_age", "60")).query().Get("code") == "" {
		t.Error("max_age=60 is not met a minute after signing in")
	}
	if b.authorize(h.params("prompt", "none", "id_token_hint", got.ID)).query().Get("code") == "" {
		t.Error("an id_token_hint for who is signed in gives no code")
	}
	h.Anyone().Post("/v2/signup", map[string]any{"email": "u@example.test", "password": "a long password", "firstName": "U", "lastName": "V"}).Want(http.StatusCreated)
	other := h.browser()
	at := other.authorize(h.params())
	other.get(other.signInAs(at, "u@example.test", "a long password")).want(http.StatusSeeOther)
	other.authorize(h.params("prompt", "none", "id_token_hint", got.ID)).wantError("login_required")
	h.clk.Advance(time.Second)
	at = other.authorize(h.params("id_token_hint", got.ID))
	other.get(other.signInAs(at, "u@example.test", "a long password")).wantError("login_required")
}
