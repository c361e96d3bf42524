package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
)

func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	admin := server.Admin()
	admin.Post("/v2/logout", nil).Want(http.StatusNoContent)
	admin.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
}

func TestAnonymousSessionExpires(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	server := apptest.Start(t, clk, "DATA_DIR="+t.TempDir())
	visitor := server.Anyone()
	visitor.Token = visitor.Post("/v2/login/anonymous", map[string]any{"expiresAfter": 60}).Want(http.StatusOK).Text("token")
	visitor.Get("/v2/me").Want(http.StatusOK)
	clk.Advance(3 * time.Minute)
	visitor.Get("/v2/me").WantError(http.StatusUnauthorized, "token_expired")
	clk.Advance(time.Hour) // long past the next sweep, which removes the account without harm to anyone
	server.Admin().Get("/v2/me").Want(http.StatusOK)
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	good := server.Admin().Token
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"garbage":       "garbage",
		"no signature":  parts[0] + "." + parts[1] + ".",
		"alg none":      "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"flipped":       good[:len(good)-6] + "AAAAAA",
		"other payload": parts[0] + ".e30." + parts[2],
		"too long":      strings.Repeat("a", 9000),
		"four parts":    good + ".x",
		"access token":  "at:0000",
	} {
		c := server.Anyone()
		c.Token = token
		if got := c.Get("/v2/me"); got.Status != http.StatusUnauthorized || got.Text("error") != "invalid_token" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if got := c.Get("/"); got.Status != http.StatusUnauthorized {
			t.Errorf("%s: a bad token is ignored where none is needed: %d", name, got.Status)
		}
	}
}

func TestSignInLimits(t *testing.T) {
	t.Parallel()
	server := apptest.New(t, "RATE_LIMIT_SVC_LOGIN=2", "RATE_LIMIT_ANONYMOUS_LOGIN=2")
	wrong := map[string]any{"email": "somebody@example.test", "password": "wrong"}
	for range 2 {
		server.Anyone().Post("/v2/login", wrong).WantError(http.StatusUnauthorized, "invalid_credentials")
	}
	limited := server.Anyone().Post("/v2/login", wrong).WantError(http.StatusTooManyRequests, "rate_limit_exceeded")
	if limited.Header.Get("Retry-After") == "" {
		t.Error("a 429 without Retry-After")
	}
	server.Admin() // another account is not limited
	for range 2 {
		server.Visitor()
	}
	server.Anyone().Post("/v2/login/anonymous", nil).WantError(http.StatusTooManyRequests, "rate_limit_exceeded")
}

// Failed and successful sign-ins are events of the platform workspace.
func TestSignInsAreEvents(t *testing.T) {
	t.Parallel()
	server := apptest.New(t)
	server.Anyone().Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": "wrong"}).WantError(http.StatusUnauthorized, "invalid_credentials")
	events := server.Admin().Get("/v2/workspaces/platform/events?types=gateway.login.failed,gateway.login.succeeded&sort=asc").Want(http.StatusOK)
	if events.Text("result.events.0.type") != "gateway.login.failed" || events.Text("result.events.0.payload.email") != apptest.AdminEmail ||
		events.Text("result.events.1.type") != "gateway.login.succeeded" {
		t.Errorf("events: %s", events.Body)
	}
	if strings.Contains(string(events.Body), "token") {
		t.Error("a token is in an event")
	}
}
