package manners_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// A limit that is reached says when to come back, in the header and in the body, and then keeps its word.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	d, clk := startAt(t, "RATE_LIMIT_SVC_LOGIN=2")
	attempt := func() *apptest.Response {
		return d.anyone(t).Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": "wrong"})
	}
	var limited *apptest.Response
	for range 3 { // the test's own sign-in was one
		limited = attempt()
	}
	mustRefuse(t, of(limited), http.StatusTooManyRequests)
	limited.WantError(http.StatusTooManyRequests, "rate_limit_exceeded")
	wait, err := strconv.Atoi(limited.Header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 60 || limited.Text("details.retryAfter") == "" {
		t.Fatalf("Retry-After %q, details %v", limited.Header.Get("Retry-After"), limited.At("details"))
	}
	clk.Advance(time.Duration(wait) * time.Second)
	attempt().WantError(http.StatusUnauthorized, "invalid_credentials")
}
