package e2e_test

import (
	"net/http"
	"testing"

	"atelier/internal/app/apptest"
)

// A service reached without the gateway knows nobody, whatever the caller says.
func TestServicesTrustOnlyTheGateway(t *testing.T) {
	t.Parallel()
	it := split(t)
	me := it.Admin().Get("/v2/me").Want(http.StatusOK).Text("id")
	token := it.Admin().Token
	for name, service := range it.services {
		direct := apptest.NewClient(t, service.URL)
		direct.Get("/v2/workspaces/platform/events").Want(map[string]int{"runtime": http.StatusNotFound, "workspaces": http.StatusNotFound}[name] + map[string]int{"events": http.StatusUnauthorized}[name])
		direct.With("X-Svc-User-Id", me).Get("/v2/workspaces").WantError(http.StatusUnauthorized, "invalid_token")
		direct.With("X-Svc-Proof", "e30.AAAA").Get("/v2/workspaces").WantError(http.StatusUnauthorized, "invalid_token")
		direct.With("X-Svc-Api-Key", apptest.InternalKey).Get("/sys/readiness/"+name).WantError(http.StatusUnauthorized, "missing_token")
	}
	withToken := apptest.NewClient(t, it.services["workspaces"].URL)
	withToken.Token = token
	withToken.Get("/v2/workspaces").WantError(http.StatusUnauthorized, "missing_token")
}

// The gateway says which service is down, at once, and keeps serving the rest.
func TestServiceDown(t *testing.T) {
	t.Parallel()
	it := split(t)
	admin := it.Admin()
	it.services["workspaces"].Stop()
	down := admin.Get("/v2/workspaces").WantError(http.StatusServiceUnavailable, "service_unavailable")
	if down.Header.Get("Retry-After") == "" {
		t.Error("a 503 without Retry-After")
	}
	admin.Get("/v2/workspaces/platform/events").Want(http.StatusOK)
	admin.Get("/v2/me").Want(http.StatusOK)
	report := admin.Get("/v2/readiness").Want(http.StatusBadRequest)
	if report.Text("status") != "error" || report.Text("services.workspaces.status") != "error" || report.Text("services.workspaces.errors.0.module") == "" {
		t.Errorf("report: %s", report.Body)
	}
	if report.Text("services.events.status") != "ready" {
		t.Errorf("events are not ready: %s", report.Body)
	}
}
