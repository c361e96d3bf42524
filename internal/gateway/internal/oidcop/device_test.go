package oidcop_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// letIn begins a device flow and lets the device in with a browser.
func (b *browser) letIn(scope string) (device string) {
	b.t.Helper()
	begun := b.h.post("/oidc/device/auth", url.Values{"client_id": {console}, "scope": {scope}}).Want(http.StatusOK)
	b.postJSON("/oidc/device/verify", `{"user_code":"`+begun.Text("user_code")+`","allow":true}`).want(http.StatusOK)
	return begun.Text("device_code")
}

func (h *house) poll(device string) *apptest.Response {
	h.t.Helper()
	return h.post("/oidc/token", url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {console}, "device_code": {device},
	})
}

// Letting a device in is not signing in: a client is told when the person did.
func TestDeviceTellsWhen(t *testing.T) {
	t.Parallel()
	h := start(t)
	b := h.browser()
	b.code(h.params())
	signedIn := h.clk.Now().Unix()
	h.clk.Advance(time.Hour)
	answer := h.poll(b.letIn("openid settings offline_access")).Want(http.StatusOK)
	if claims := claimsOf(t, answer.Text("id_token")); claims["auth_time"] != float64(signedIn) {
		t.Errorf("auth_time is %v, want %d", claims["auth_time"], signedIn)
	}
}

// Whoever signs out everywhere has not let in the device that asks a moment later.
func TestDeviceAfterSignOut(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, h *house) {
		b := h.browser()
		b.code(h.params())
		device := b.letIn(everything)
		h.Admin().Delete("/v2/user/sessions").Want(http.StatusOK)
		wantOAuth(t, h.poll(device), 400, "access_denied")
		wantOAuth(t, h.poll(device), 400, "invalid_grant")
	})
}
