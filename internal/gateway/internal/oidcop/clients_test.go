package oidcop_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

func TestRegistration(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		wantOAuth(t, h.Anyone().Post("/oidc/reg", map[string]any{}), 401, "invalid_token")
		wantOAuth(t, h.Anyone().With("Authorization", "Bearer wrong").Post("/oidc/reg", map[string]any{}), 401, "invalid_token")
		for name, test := range map[string]struct {
			body map[string]any
			want string
		}{
			"nothing":        {map[string]any{}, "invalid_redirect_uri"},
			"javascript":     {map[string]any{"redirect_uris": []string{"javascript:alert(1)"}}, "invalid_redirect_uri"},
			"fragment":       {map[string]any{"redirect_uris": []string{"https://app.test/#x"}}, "invalid_redirect_uri"},
			"user":           {map[string]any{"redirect_uris": []string{"https://u@app.test/"}}, "invalid_redirect_uri"},
			"relative":       {map[string]any{"redirect_uris": []string{"/cb"}}, "invalid_redirect_uri"},
			"wildcard":       {map[string]any{"redirect_uris": []string{"https://*.app.test/"}}, "invalid_redirect_uri"},
			"app in web":     {map[string]any{"redirect_uris": []string{"com.example:/cb"}}, "invalid_redirect_uri"},
			"plain scheme":   {map[string]any{"redirect_uris": []string{"myapp:/cb"}, "application_type": "native"}, "invalid_redirect_uri"},
			"logout":         {map[string]any{"redirect_uris": []string{"https://app.test/"}, "post_logout_redirect_uris": []string{"data:x"}}, "invalid_redirect_uri"},
			"implicit":       {map[string]any{"redirect_uris": []string{"https://app.test/"}, "response_types": []string{"token"}}, "invalid_client_metadata"},
			"password":       {map[string]any{"redirect_uris": []string{"https://app.test/"}, "grant_types": []string{"password"}}, "invalid_client_metadata"},
			"assertion":      {map[string]any{"redirect_uris": []string{"https://app.test/"}, "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"},
			"own id":         {map[string]any{"redirect_uris": []string{"https://app.test/"}, "client_id": console}, "invalid_client_metadata"},
			"no scope":       {map[string]any{"redirect_uris": []string{"https://app.test/"}, "scope": "settings"}, "invalid_client_metadata"},
			"wrong type":     {map[string]any{"redirect_uris": "https://app.test/"}, "invalid_client_metadata"},
			"long name":      {map[string]any{"redirect_uris": []string{"https://app.test/"}, "client_name": strings.Repeat("n", 201)}, "invalid_client_metadata"},
			"name backwards": {map[string]any{"redirect_uris": []string{"https://app.test/"}, "client_name": "A\u202epp"}, "invalid_client_metadata"},
			"name of lines":  {map[string]any{"redirect_uris": []string{"https://app.test/"}, "client_name": "A\npp"}, "invalid_client_metadata"},
			"a script page":  {map[string]any{"redirect_uris": []string{"https://app.test/"}, "client_uri": "javascript:x"}, "invalid_client_metadata"},
		} {
			if got := h.register(test.body); got.Status != http.StatusBadRequest || got.Text("error") != test.want {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
		made := h.register(map[string]any{
			"redirect_uris": []string{"https://app.test/cb"}, "token_endpoint_auth_method": "none", "scope": "openid settings events:read", "logo_uri": "ignored",
		}).Want(http.StatusCreated)
		if made.Text("client_secret") != "" || made.Text("scope") != "openid events:read" || made.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("registered %s", made.Body)
		}
		id := made.Text("client_id")
		owner := h.Anyone()
		owner.Token = made.Text("registration_access_token")
		path := strings.TrimPrefix(made.Text("registration_client_uri"), h.URL)
		if got := owner.Get(path).Want(http.StatusOK); got.Text("client_id") != id || got.Text("registration_access_token") != owner.Token || got.Text("client_secret") != "" {
			t.Errorf("reading gives %s", got.Body)
		}
		for _, stranger := range []string{initialToken, "x", h.Admin().Token} {
			c := h.Anyone()
			c.Token = stranger
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				wantOAuth(t, c.Do(method, path, map[string]any{}), 401, "invalid_token")
			}
		}
		wantOAuth(t, owner.Get("/oidc/reg/"+console), 401, "invalid_token")
		replaced := map[string]any{"client_id": id, "redirect_uris": []string{"https://app.test/two"}, "token_endpoint_auth_method": "none", "scope": "openid"}
		if got := owner.Put(path, replaced).Want(http.StatusOK); got.Text("registration_access_token") != owner.Token {
			t.Errorf("replacing gives %s", got.Body)
		}
		replaced["token_endpoint_auth_method"] = "client_secret_basic"
		wantOAuth(t, owner.Put(path, replaced), 400, "invalid_client_metadata")
		b := h.browser()
		b.authorize(h.params("client_id", id, "redirect_uri", "https://app.test/cb")).want(http.StatusBadRequest)
		params := h.params("client_id", id, "redirect_uri", "https://app.test/two")
		uid := b.get(b.signIn(b.authorize(params))).query().Get("interaction")
		b.postJSON("/oidc/interaction/"+uid+"/consent", `{"allow":true}`).want(http.StatusOK)
		token := h.post("/oidc/token", exchange(b.get("/oidc/auth/"+uid).query().Get("code"), params)).Want(http.StatusOK).Text("access_token")
		owner.Delete(path).Want(http.StatusNoContent)
		wantOAuth(t, owner.Get(path), 401, "invalid_token")
		b.authorize(params).want(http.StatusBadRequest)
		me := h.Anyone()
		me.Token = token
		me.Get("/oidc/me").Want(http.StatusUnauthorized)
	})
}

func TestRegistrationIsClosed(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	wantOAuth(t, server.Anyone().Post("/oidc/reg", map[string]any{}), 403, "access_denied")
	if got := server.Anyone().Get("/.well-known/openid-configuration").Want(http.StatusOK); got.Text("registration_endpoint") != "" {
		t.Errorf("a closed endpoint is announced: %s", got.Body)
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	h := start(t)
	first := h.Anyone().Get("/.well-known/openid-configuration").Want(http.StatusOK)
	for _, path := range []string{"/oidc/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		if got := h.Anyone().Get(path).Want(http.StatusOK); string(got.Body) != string(first.Body) {
			t.Errorf("%s says something else", path)
		}
	}
	if first.Text("issuer") != h.URL || first.At("authorization_response_iss_parameter_supported") != true || first.Text("registration_endpoint") == "" {
		t.Errorf("the document is %s", first.Body)
	}
	h.Anyone().With("Host", "evil.test").Get("/.well-known/openid-configuration").Want(http.StatusOK)
	h.Anyone().Get("/oidc/token").Want(http.StatusMethodNotAllowed)
}

// A workspace has a client from its creation to its end.
func TestWorkspaceClient(t *testing.T) {
	t.Parallel()
	h := start(t, "PAGES_HOST=.pages.test:8080")
	admin := h.Admin()
	id := admin.Post("/v2/workspaces", map[string]any{"name": "Shop", "slug": "shop"}).Want(http.StatusCreated).Text("id")
	clientID := h.waitForClient(admin, id)
	b := h.browser()
	params := h.params("client_id", clientID, "redirect_uri", "http://shop.pages.test:8080/signin", "scope", everything+" workspaces:read")
	got := b.tokens(params)
	if got.Scope != "openid profile email events:read" || got.Refresh != "" {
		t.Errorf("the client of a workspace gets %s", got.Scope)
	}
	admin.Patch("/v2/workspaces/"+id, map[string]any{"slug": "store"}).Want(http.StatusOK)
	moved := h.params("client_id", clientID, "redirect_uri", "http://store.pages.test:8080/signin")
	h.until(func() bool { return b.authorize(moved).status == http.StatusSeeOther })
	b.authorize(params).want(http.StatusBadRequest)
	admin.Delete("/v2/workspaces/" + id)
	h.until(func() bool { return b.authorize(moved).status == http.StatusBadRequest })
}

// waitForClient gives the client that was announced for a workspace.
func (h *house) waitForClient(admin *apptest.Client, workspace string) (id string) {
	h.t.Helper()
	h.until(func() bool {
		events, _ := admin.Get("/v2/workspaces/" + workspace + "/events").Want(http.StatusOK).At("result.events").([]any)
		for _, event := range events {
			said := event.(map[string]any)
			if said["type"] == "workspaces.security.updated" {
				security, _ := said["payload"].(map[string]any)["security"].(map[string]any)
				if authentication, ok := security["authentication"].(map[string]any); ok {
					id, _ = authentication["clientId"].(string)
				}
			}
		}
		return id != ""
	})
	return id
}

// until waits for a condition. The server's own waits are on the test's clock.
func (h *house) until(holds func() bool) {
	h.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			h.t.Fatal("it does not happen")
		default:
			h.clk.Advance(100 * time.Millisecond)
		}
	}
}

func TestDeviceFlow(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		begin := func() *apptest.Response {
			return h.post("/oidc/device/auth", url.Values{"client_id": {console}, "scope": {everything}}).Want(http.StatusOK)
		}
		poll := func(device *apptest.Response, client string) *apptest.Response {
			return h.post("/oidc/token", url.Values{
				"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {client}, "device_code": {device.Text("device_code")},
			})
		}
		answer := func(b *browser, device *apptest.Response, allow string) page {
			return b.postJSON("/oidc/device/verify", `{"user_code":"`+strings.ToLower(device.Text("user_code"))+`","allow":`+allow+`}`)
		}
		device := begin()
		wantOAuth(t, poll(device, console), 400, "authorization_pending")
		wantOAuth(t, poll(device, console), 400, "slow_down")
		h.clk.Advance(6 * time.Second)
		wantOAuth(t, poll(device, console), 400, "slow_down") // it has to wait longer now
		wantOAuth(t, poll(device, mobile), 400, "invalid_grant")
		answer(h.browser(), device, "true").want(http.StatusUnauthorized)
		b := h.browser()
		b.code(h.params())
		b.header.Set("Sec-Fetch-Site", "cross-site")
		answer(b, device, "true").want(http.StatusForbidden)
		b.header.Set("Sec-Fetch-Site", "same-origin")
		if got := b.get("/oidc/device/details?user_code=" + device.Text("user_code")).want(http.StatusOK); !strings.Contains(got.body, `"name":"Atelier"`) {
			t.Errorf("the page is told %s", got.body)
		}
		answer(b, device, "true").want(http.StatusOK)
		answer(b, device, "true").want(http.StatusNotFound)
		var got tokens
		poll(device, console).Want(http.StatusOK).Into(&got)
		wantOAuth(t, poll(device, console), 400, "invalid_grant")
		me := h.Anyone()
		me.Token = got.Access
		me.Get("/v2/me").Want(http.StatusOK)
		b.do(http.MethodPost, "/oidc/session/end", formType, "").want(http.StatusSeeOther)
		h.post("/oidc/token", refreshForm(console, got.Refresh)).Want(http.StatusOK) // the device has a session of its own

		b = h.browser()
		b.code(h.params())
		device = begin()
		answer(b, device, "false").want(http.StatusOK)
		wantOAuth(t, poll(device, console), 400, "access_denied")
		device = begin()
		h.clk.Advance(10*time.Minute + time.Second)
		answer(b, device, "true").want(http.StatusNotFound)
		wantOAuth(t, poll(device, console), 400, "expired_token")
		for range 20 {
			if answer(b, device, "true").status == http.StatusTooManyRequests {
				return
			}
		}
		t.Error("codes can be guessed without end")
	})
}
