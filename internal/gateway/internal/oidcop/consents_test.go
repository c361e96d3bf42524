package oidcop_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// stranger registers a client that does not belong to the installation.
func (h *house) stranger(changes map[string]any) *apptest.Response {
	h.t.Helper()
	body := map[string]any{
		"redirect_uris": []string{"https://app.test/cb"}, "client_name": "App", "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "scope": everything,
	}
	maps.Copy(body, changes)
	return h.register(body).Want(http.StatusCreated)
}

// consent goes through an authorization that asks the person, who agrees, and gives the tokens.
func (b *browser) consent(params url.Values) tokens {
	b.t.Helper()
	at := b.authorize(params)
	uid := at.query().Get("interaction")
	if details := b.get("/oidc/interaction/" + uid + "/details"); strings.Contains(details.body, `"prompt":"login"`) {
		b.signIn(at)
	}
	b.postJSON("/oidc/interaction/"+uid+"/consent", `{"allow":true}`).want(http.StatusOK)
	code := b.get("/oidc/auth/" + uid).query().Get("code")
	var got tokens
	b.h.post("/oidc/token", exchange(code, params)).Want(http.StatusOK).Into(&got)
	return got
}

func TestConsentsCanBeTakenBack(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.stranger(nil).Text("client_id")
		b := h.browser()
		params := h.params("client_id", id, "redirect_uri", "https://app.test/cb")
		got := b.consent(params)
		own := b.tokens(h.params())
		admin := h.Admin()
		listed := admin.Get("/v2/user/consents").Want(http.StatusOK)
		if listed.Text("0.clientId") != id || listed.Text("0.name") != "App" || listed.Text("0.scopes.0") != "openid" || listed.Text("0.createdAt") == "" {
			t.Errorf("listed %s", listed.Body)
		}
		app := h.Anyone()
		app.Token = got.Access
		app.Get("/oidc/me").Want(http.StatusOK)
		app.Get("/v2/user/consents").Want(http.StatusForbidden)
		admin.Delete("/v2/user/consents/" + id).Want(http.StatusOK)
		app.Get("/oidc/me").Want(http.StatusUnauthorized)
		wantOAuth(t, h.post("/oidc/token", refreshForm(id, got.Refresh)), 400, "invalid_grant")
		if b.authorize(params).query().Has("code") {
			t.Error("the client is not asked for again")
		}
		admin.Delete("/v2/user/consents/"+id).WantError(http.StatusNotFound, "resource_not_found")
		if left := admin.Get("/v2/user/consents").Want(http.StatusOK); strings.TrimSpace(string(left.Body)) != "[]" {
			t.Errorf("left %s", left.Body)
		}
		h.post("/oidc/token", refreshForm(console, own.Refresh)).Want(http.StatusOK) // another client keeps what it has
	})
}

// Any program on a person's machine can listen on a port there: the console's code does not go to one unasked.
func TestLoopbackConsoleAsks(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.code(h.params())
	params := h.params("redirect_uri", "http://127.0.0.1:5173/callback")
	for range 2 { // once is not for ever
		uid := b.authorize(params).query().Get("interaction")
		if details := b.get("/oidc/interaction/" + uid + "/details"); !strings.Contains(details.body, `"prompt":"consent"`) || !strings.Contains(details.body, `"redirect":"127.0.0.1:5173"`) {
			t.Fatalf("the page is told %s", details.body)
		}
		params.Set("prompt", "none")
		b.authorize(params).wantError("consent_required")
		params.Del("prompt")
		b.consent(params)
	}
	if left := h.Admin().Get("/v2/user/consents").Want(http.StatusOK); strings.TrimSpace(string(left.Body)) != "[]" {
		t.Errorf("the console is listed: %s", left.Body)
	}
	if !b.authorize(h.params()).query().Has("code") {
		t.Error("the installation's own console asks")
	}
}

// What a client gives up, it does not get for what it was granted before.
func TestNarrowedClient(t *testing.T) {
	t.Parallel()
	h := start(t)
	made := h.stranger(nil)
	id := made.Text("client_id")
	params := h.params("client_id", id, "redirect_uri", "https://app.test/cb")
	got := h.browser().consent(params)
	owner := h.Anyone()
	owner.Token = made.Text("registration_access_token")
	body := map[string]any{
		"client_id": id, "redirect_uris": []string{"https://app.test/cb"}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "scope": "openid",
	}
	owner.Put("/oidc/reg/"+id, body).Want(http.StatusOK)
	answer := h.post("/oidc/token", refreshForm(id, got.Refresh)).Want(http.StatusOK)
	if answer.Text("scope") != "openid" || claimsOf(t, answer.Text("access_token"))["scope"] != "openid" || answer.Text("refresh_token") != "" {
		t.Errorf("a narrowed client gets %s", answer.Body)
	}
}

func TestDeviceOnlyClient(t *testing.T) {
	t.Parallel()
	h := start(t)
	id := h.stranger(map[string]any{"grant_types": []string{"urn:ietf:params:oauth:grant-type:device_code"}}).Text("client_id")
	h.browser().authorize(h.params("client_id", id, "redirect_uri", "https://app.test/cb")).wantError("unauthorized_client")
}
