package federation_test

import (
	"net/http"
	"testing"
	"time"
)

func TestTokenExchange(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p, other := newIDP(t, clk), newIDP(t, clk)
	h := start(t, provided(p, "allowTokenExchange: true", "audiences: [app]").with("other", other).with("both", other, "allowTokenExchange: true"))
	anyone := h.Anyone()
	exchange := func(slug, token string) map[string]any {
		return map[string]any{"provider": slug, "subject_token": token}
	}
	token := p.issue(nil)
	first := anyone.Post("/v2/login/token-exchange", exchange("acme", token)).Want(http.StatusOK)
	again := anyone.Post("/v2/login/token-exchange", exchange("acme", token)).Want(http.StatusOK)
	if first.Text("userId") != again.Text("userId") || first.Text("sessionId") == again.Text("sessionId") || first.Text("authData.acme.id") != "alice" {
		t.Errorf("%s\n%s", first.Body, again.Body)
	}
	anyone.Token = first.Text("token")
	anyone.Get("/v2/me").Want(http.StatusOK)
	anyone.Token = ""
	if h.wantSignedIn("provider=acme") != first.Text("userId") {
		t.Error("a sign-in finds another account")
	}
	for name, more := range map[string]map[string]any{
		"another audience": {"aud": "app"}, "several": {"aud": []string{"theirs", "app"}, "azp": "app"}, "ours for the app": {"azp": "app"},
	} {
		if got := anyone.Post("/v2/login/token-exchange", exchange("acme", p.issue(more))); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	anyone.Post("/v2/login/token-exchange", exchange("acme", p.issue(map[string]any{"aud": "app", "azp": "theirs"}))).WantError(http.StatusUnauthorized, "invalid_token")
	anyone.Post("/v2/login/token-exchange", exchange("other", other.issue(nil))).WantError(http.StatusForbidden, "permission_denied")
	anyone.Post("/v2/login/token-exchange", exchange("absent", token)).WantError(http.StatusNotFound, "resource_not_found")
	anyone.Post("/v2/login/token-exchange", exchange("both", token)).WantError(http.StatusUnauthorized, "invalid_token")
	h.clk.Advance(6 * time.Minute)
	anyone.Post("/v2/login/token-exchange", exchange("acme", token)).WantError(http.StatusUnauthorized, "invalid_token")
}

func TestTokenExchangeInput(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	anyone := h.Anyone()
	full := func(change func(map[string]any)) map[string]any {
		body := map[string]any{
			"provider": "acme", "subject_token": p.issue(nil), "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
			"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "expiresAfter": 120,
		}
		change(body)
		return body
	}
	signed := anyone.Post("/v2/login/token-exchange", full(func(map[string]any) {})).Want(http.StatusOK)
	ends, err := time.Parse(time.RFC3339, signed.Text("expires"))
	if err != nil || ends.Sub(h.clk.Now()) != 2*time.Minute {
		t.Errorf("ends %v: %v", ends, err)
	}
	if signed.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", signed.Header)
	}
	for field, value := range map[string]any{
		"subject_token_type": "urn:ietf:params:oauth:token-type:saml2", "grant_type": "password", "expiresAfter": 1, "subject_token": "", "provider": "", "more": 1,
	} {
		anyone.Post("/v2/login/token-exchange", full(func(b map[string]any) { b[field] = value })).
			WantError(http.StatusUnprocessableEntity, "validation_failed")
	}
}

// Exchanges are counted for each network.
func TestTokenExchangeLimit(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	s := provided(p, "allowTokenExchange: true")
	s.settings = []string{"RATE_LIMIT_TOKEN_EXCHANGE=3"}
	h := start(t, s)
	body := map[string]any{"provider": "acme", "subject_token": p.issue(nil)}
	for range 3 {
		h.Anyone().Post("/v2/login/token-exchange", body).Want(http.StatusOK)
	}
	limited := h.Anyone().Post("/v2/login/token-exchange", body).WantError(http.StatusTooManyRequests, "rate_limit_exceeded")
	if limited.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}
