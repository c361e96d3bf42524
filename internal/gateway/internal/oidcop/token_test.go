package oidcop_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// B-OID-02 and B-OID-03: a code is for one client, one address, one verifier, a minute.
func TestCodeIsBound(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	params := h.params()
	code := b.code(params)
	for name, change := range map[string][]string{
		"no verifier":    {"code_verifier", ""},
		"wrong verifier": {"code_verifier", verifierText + "x"},
		"short verifier": {"code_verifier", verifierText[:42]},
		"long verifier":  {"code_verifier", strings.Repeat("a", 129)},
		"odd verifier":   {"code_verifier", strings.Repeat("é", 43)},
		"the challenge":  {"code_verifier", params.Get("code_challenge")},
		"other client":   {"client_id", mobile},
		"other address":  {"redirect_uri", h.URL + "/"},
		"other code":     {"code", code + "x"},
		"cut code":       {"code", code[:40]},
	} {
		got := h.post("/oidc/token", exchange(code, params, change...))
		if got.Status != http.StatusBadRequest || got.Text("error") != "invalid_grant" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	for name, test := range map[string]struct {
		change []string
		status int
		code   string
	}{
		"no code":         {[]string{"code", ""}, 400, "invalid_request"},
		"no address":      {[]string{"redirect_uri", ""}, 400, "invalid_request"},
		"no grant type":   {[]string{"grant_type", ""}, 400, "invalid_request"},
		"other grant":     {[]string{"grant_type", "password"}, 400, "unsupported_grant_type"},
		"no client":       {[]string{"client_id", ""}, 401, "invalid_client"},
		"unknown client":  {[]string{"client_id", "nobody"}, 401, "invalid_client"},
		"secret of none":  {[]string{"client_secret", "x"}, 401, "invalid_client"},
		"assertion":       {[]string{"client_assertion", "x"}, 401, "invalid_client"},
		"refresh of none": {[]string{"grant_type", "refresh_token"}, 400, "invalid_request"},
	} {
		got := h.post("/oidc/token", exchange(code, params, test.change...))
		if got.Status != test.status || got.Text("error") != test.code {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	form := exchange(code, params)
	wantOAuth(t, h.Anyone().With("Content-Type", formType).Post("/oidc/token?client_id="+console, form.Encode()), 400, "invalid_request")
	wantOAuth(t, h.Anyone().With("Content-Type", formType).Post("/oidc/token", form.Encode()+"&code=2"), 400, "invalid_request")
	h.Anyone().Post("/oidc/token", map[string]any{"code": code}).Want(http.StatusUnsupportedMediaType)
	h.post("/oidc/token", form).Want(http.StatusOK) // none of that has used it up

	code = b.code(params)
	h.clk.Advance(61 * time.Second)
	wantOAuth(t, h.post("/oidc/token", exchange(code, params)), 400, "invalid_grant")
}

// B-OID-03: what is presented twice is worth nothing afterwards.
func TestReplays(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		b := h.browser()
		params := h.params()
		code := b.code(params)
		var got tokens
		h.post("/oidc/token", exchange(code, params)).Want(http.StatusOK).Into(&got)
		me := h.Anyone()
		me.Token = got.Access
		me.Get("/v2/me").Want(http.StatusOK)
		wantOAuth(t, h.post("/oidc/token", exchange(code, params, "client_id", mobile)), 400, "invalid_grant")
		me.Get("/v2/me").Want(http.StatusOK) // another client cannot end it
		wantOAuth(t, h.post("/oidc/token", exchange(code, params)), 400, "invalid_grant")
		me.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
		wantOAuth(t, h.post("/oidc/token", refreshForm(console, got.Refresh)), 400, "invalid_grant")
		if b.authorize(h.params()).query().Get("code") == "" {
			t.Error("a replay signs the browser out")
		}

		first := b.tokens(params)
		var second tokens
		h.post("/oidc/token", refreshForm(console, first.Refresh)).Want(http.StatusOK).Into(&second)
		if second.Refresh == first.Refresh || second.Refresh == "" || second.ID == "" || second.Access == first.Access {
			t.Error("a refresh does not rotate")
		}
		wantOAuth(t, h.post("/oidc/token", refreshForm(console, first.Refresh)), 400, "invalid_grant")
		wantOAuth(t, h.post("/oidc/token", refreshForm(console, second.Refresh)), 400, "invalid_grant")
		for _, token := range []string{first.Access, second.Access} {
			me.Token = token
			me.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
		}
	})
}

// B-OID-03: of fifty who present the same thing at once, at most one gets anything.
func TestRaces(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		b := h.browser()
		params := h.params()
		race := func(form url.Values) (won int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					got, err := h.Anyone().With("Content-Type", formType).Try(t.Context(), http.MethodPost, "/oidc/token", form.Encode())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if got.Status == http.StatusOK {
						won++
					} else if got.Text("error") != "invalid_grant" {
						t.Errorf("%d %s", got.Status, got.Body)
					}
				})
			}
			all.Wait()
			return won
		}
		if won := race(exchange(b.code(params), params)); won > 1 {
			t.Errorf("%d of fifty got tokens for one code", won)
		}
		if won := race(refreshForm(console, b.tokens(params).Refresh)); won > 1 {
			t.Errorf("%d of fifty got tokens for one refresh token", won)
		}
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	params := h.params()
	if got := b.tokens(h.params("scope", "openid")); got.Refresh != "" {
		t.Error("a refresh token without offline_access")
	}
	got := b.tokens(params)
	wantOAuth(t, h.post("/oidc/token", refreshForm(mobile, got.Refresh)), 400, "invalid_grant")
	form := refreshForm(console, got.Refresh)
	form.Set("scope", "openid files:write")
	wantOAuth(t, h.post("/oidc/token", form), 400, "invalid_scope")
	form.Set("scope", "events:read")
	first := got.Refresh
	got = tokens{}
	h.post("/oidc/token", form).Want(http.StatusOK).Into(&got)
	if got.Refresh == first || got.Scope != "events:read" || got.ID != "" || claimsOf(t, got.Access)["scope"] != "events:read" {
		t.Errorf("a narrower token has %s", got.Scope)
	}
	h.post("/oidc/token", refreshForm(console, got.Refresh)).Want(http.StatusOK).Into(&got)
	if got.Scope != everything {
		t.Errorf("the next one has %s", got.Scope)
	}
	idle := got.Refresh
	h.clk.Advance(24*time.Hour + time.Second)
	wantOAuth(t, h.post("/oidc/token", refreshForm(console, idle)), 400, "invalid_grant")

	got = b.tokens(params)
	me := h.Anyone()
	me.Token = got.Access
	h.Admin().Delete("/v2/user/sessions").Want(http.StatusOK)
	wantOAuth(t, h.post("/oidc/token", refreshForm(console, got.Refresh)), 400, "invalid_grant")
}

func TestSecretClient(t *testing.T) {
	t.Parallel()
	h := start(t)
	made := h.register(map[string]any{"redirect_uris": []string{"https://app.test/cb"}, "client_name": "App", "grant_types": []string{"authorization_code", "refresh_token"}}).Want(http.StatusCreated)
	id, secret := made.Text("client_id"), made.Text("client_secret")
	b := h.browser()
	params := h.params("client_id", id, "redirect_uri", "https://app.test/cb")
	at := b.authorize(params)
	back := b.get(b.signIn(at))
	uid := back.query().Get("interaction")
	if b.get("/oidc/interaction/"+uid).location != back.location {
		t.Error("the step of consent does not lead to the page")
	}
	if details := b.get("/oidc/interaction/" + uid + "/details"); !strings.Contains(details.body, `"prompt":"consent"`) || !strings.Contains(details.body, `"name":"App"`) {
		t.Errorf("the page is told %s", details.body)
	}
	b.header.Set("Origin", "https://evil.test")
	b.postJSON("/oidc/interaction/"+uid+"/consent", `{"allow":true}`).want(http.StatusForbidden)
	b.header.Set("Origin", h.URL)
	if resumed := b.get(h.URL + "/oidc/auth/" + uid); resumed.query().Has("code") {
		t.Error("a code without consent")
	}
	b.postJSON("/oidc/interaction/"+uid+"/consent", `{}`).want(http.StatusUnprocessableEntity)
	b.postJSON("/oidc/interaction/"+uid+"/consent", `{"allow":true}`).want(http.StatusOK)
	code := b.get("/oidc/auth/" + uid).query().Get("code")

	basic := func(user, password string) *apptest.Client {
		c := h.Anyone().With("Content-Type", formType)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL, nil)
		r.SetBasicAuth(user, password)
		return c.With("Authorization", r.Header.Get("Authorization"))
	}
	form := exchange(code, params, "client_id", "")
	wantOAuth(t, basic(id, "wrong").Post("/oidc/token", form.Encode()), 401, "invalid_client")
	wantOAuth(t, basic(id, "").Post("/oidc/token", form.Encode()), 401, "invalid_client")
	wantOAuth(t, basic(id, secret).Post("/oidc/token", form.Encode()+"&client_id=other"), 401, "invalid_client")
	wantOAuth(t, h.post("/oidc/token", exchange(code, params)), 401, "invalid_client")
	wantOAuth(t, h.post("/oidc/token", exchange(code, params, "client_secret", secret)), 401, "invalid_client") // registered for Basic
	wantOAuth(t, basic(id, secret).Post("/oidc/token", exchange(code, params, "client_id", "", "code_verifier", "").Encode()), 400, "invalid_grant")
	answer := basic(id, secret).Post("/oidc/token", form.Encode()).Want(http.StatusOK)
	if answer.Header.Get("Set-Cookie") != "" {
		t.Error("a client of others sets our cookie")
	}
	if again := b.authorize(params); !again.query().Has("code") {
		t.Errorf("consent is not remembered: %s", again.location)
	}
	b.authorize(h.params("client_id", id, "redirect_uri", "https://app.test/cb", "prompt", "consent")).query()
	b.authorize(h.params("client_id", id, "redirect_uri", "https://app.test/cb", "prompt", "none")).query()
	denied := b.authorize(h.params("client_id", id, "redirect_uri", "https://app.test/cb", "prompt", "consent")).query().Get("interaction")
	if answer := b.postJSON("/oidc/interaction/"+denied+"/consent", `{"allow":false}`).want(http.StatusOK); !strings.Contains(answer.body, "error=access_denied") {
		t.Errorf("a refusal leads to %s", answer.body)
	}
	introspectOwn(t, h, basic(id, secret), answer.Text("access_token"), answer.Text("refresh_token"))
}

func introspectOwn(t *testing.T, h *house, own *apptest.Client, access, refresh string) {
	t.Helper()
	ask := func(c *apptest.Client, token string, more ...string) *apptest.Response {
		form := url.Values{"token": {token}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return c.Post("/oidc/token/introspection", form.Encode())
	}
	for _, token := range []string{access, refresh} {
		if got := ask(own, token).Want(http.StatusOK); got.At("active") != true || got.Text("sub") == "" {
			t.Errorf("its own token: %s", got.Body)
		}
		if got := ask(h.Anyone().With("Content-Type", formType), token, "client_id", console).Want(http.StatusOK); string(got.Body) != `{"active":false}` {
			t.Errorf("another's token: %s", got.Body)
		}
	}
	if got := ask(own, h.Admin().Token).Want(http.StatusOK); string(got.Body) != `{"active":false}` {
		t.Errorf("a token of nobody: %s", got.Body)
	}
	wantOAuth(t, ask(h.Anyone().With("Content-Type", formType), access), 401, "invalid_client")
	revoke := func(c *apptest.Client, token, client string) {
		form := url.Values{"token": {token}}
		if client != "" {
			form.Set("client_id", client)
		}
		c.Post("/oidc/token/revocation", form.Encode()).Want(http.StatusOK)
	}
	revoke(h.Anyone().With("Content-Type", formType), access, console)
	revoke(h.Anyone().With("Content-Type", formType), refresh, console)
	revoke(own, "junk", "")
	if got := ask(own, access); got.At("active") != true {
		t.Error("another client revoked it")
	}
	revoke(own, access, "")
	if got := ask(own, access); got.At("active") != false {
		t.Error("a revoked access token is active")
	}
	if got := ask(own, refresh); got.At("active") != true {
		t.Error("revoking an access token ends the refresh token")
	}
	revoke(own, refresh, "")
	if got := ask(own, refresh); got.At("active") != false {
		t.Error("a revoked refresh token is active")
	}
}

func TestUserInfo(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	read := func(scope string) *apptest.Response {
		c := h.Anyone()
		c.Token = b.tokens(h.params("scope", scope)).Access
		return c.Get("/oidc/me")
	}
	if got := read("openid").Want(http.StatusOK); got.Text("sub") == "" || got.Text("email") != "" || got.Text("firstName") != "" || got.At("authData") != nil {
		t.Errorf("openid alone tells %s", got.Body)
	}
	got := read("openid profile email settings").Want(http.StatusOK)
	if got.Text("firstName") != "Admin" || got.Text("given_name") != "Admin" || got.Text("email") != apptest.AdminEmail || got.At("email_verified") != true ||
		got.At("authData.svc") == nil {
		t.Errorf("everything tells %s", got.Body)
	}
	wantOAuth(t, read("events:read"), 403, "insufficient_scope")
	wantOAuth(t, h.Anyone().Get("/oidc/me"), 401, "invalid_token")
	wantOAuth(t, h.Anyone().With("Authorization", "Basic eDp4").Get("/oidc/me"), 401, "invalid_token")
	token := b.tokens(h.params()).Access
	wantOAuth(t, h.Anyone().Get("/oidc/me?access_token="+token), 401, "invalid_token")
	h.post("/oidc/me", url.Values{"access_token": {token}}).Want(http.StatusOK)
}

// Asking about a refresh token, or ending it, is nobody's guess at a credential.
func TestRefreshTokensAreNoGuesses(t *testing.T) {
	t.Parallel()
	h := start(t, "RATE_LIMIT_CREDENTIAL_FAILURES=2", "RATE_LIMIT_CREDENTIAL_FAILURES_ADDRESS=2")
	b := h.browser()
	got := b.tokens(h.params())
	for range 5 {
		for _, token := range []string{got.Refresh, "opaque"} {
			h.post("/oidc/token/introspection", url.Values{"client_id": {console}, "token": {token}}).Want(http.StatusOK)
		}
		h.post("/oidc/token/revocation", url.Values{"client_id": {console}, "token": {got.Refresh}}).Want(http.StatusOK)
	}
	me := h.Anyone()
	me.Token = b.tokens(h.params()).Access
	me.Get("/v2/me").Want(http.StatusOK)
}

// A code that somebody else's browser redeems does not sign it in.
func TestCookieIsOfTheSession(t *testing.T) {
	t.Parallel()
	h := start(t, "PAGES_HOST=.pages.test:8080")
	h.Anyone().Post("/v2/signup", map[string]any{"email": "u@example.test", "password": "a long password", "firstName": "U", "lastName": "V"}).Want(http.StatusCreated)
	attacker, victim, nobody := h.browser(), h.browser(), h.browser()
	victim.get(victim.signInAs(victim.authorize(h.params()), "u@example.test", "a long password"))
	for _, b := range []*browser{victim, nobody} {
		before := b.cookies["access-token"]
		b.redeem(exchange(attacker.code(h.params()), h.params())).want(http.StatusOK)
		if b.cookies["access-token"] != before {
			t.Error("the browser is signed in as somebody else")
		}
	}
	own := attacker.redeem(exchange(attacker.code(h.params()), h.params())).tokens()
	if attacker.cookies["access-token"] != own.Access {
		t.Error("the browser does not get its own token")
	}
	admin := h.Admin()
	workspace := admin.Post("/v2/workspaces", map[string]any{"name": "Shop", "slug": "shop"}).Want(http.StatusCreated).Text("id")
	params := h.params("client_id", h.waitForClient(admin, workspace), "redirect_uri", "http://shop.pages.test:8080/signin")
	attacker.redeem(exchange(attacker.code(params), params)).want(http.StatusOK)
	if attacker.cookies["access-token"] != own.Access {
		t.Error("a workspace's page replaces the browser's token")
	}
}
