package manners_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// Readiness is for super admins and for the internal key.
func readinessIsForOperators(t *testing.T, d *door) {
	t.Helper()
	d.anyone(t).Get("/v2/readiness").WantError(http.StatusUnauthorized, "missing_token")
	d.Visitor().Get("/v2/readiness").WantError(http.StatusForbidden, "permission_denied")
	d.anyone(t).With("X-Svc-Api-Key", "wrong-"+apptest.InternalKey).Get("/v2/readiness").WantError(http.StatusUnauthorized, "invalid_credentials")
	d.anyone(t).With("Authorization", "Bearer "+apptest.InternalKey).Get("/v2/readiness").WantError(http.StatusUnauthorized, "invalid_token")
	for _, c := range []*apptest.Client{d.admin(t), d.anyone(t).With("X-Svc-Api-Key", apptest.InternalKey)} {
		c.Get("/v2/readiness").Want(http.StatusOK)
	}
}

// The report has the shape of specification 4.1.
func readinessReport(t *testing.T, d *door) {
	t.Helper()
	report := d.admin(t).Get("/v2/readiness").Want(http.StatusOK)
	if report.Text("status") != "ready" || report.Text("services.api-gateway.status") != "ready" {
		t.Errorf("%s", report.Body)
	}
	own, _ := report.At("services.api-gateway.modulesReady").([]any)
	names := map[string]bool{}
	for _, item := range own {
		module, _ := item.(map[string]any)
		names[module["module"].(string)] = module["driver"] != ""
	}
	for _, name := range []string{"database", "sessionsRedis", "rateLimitsRedis", "broker", "jwks"} {
		if !names[name] {
			t.Errorf("the gateway does not try %s: %v", name, names)
		}
	}
	for _, service := range []string{"workspaces", "events", "runtime"} {
		at := "services." + service
		if report.Text(at+".status") != "ready" || report.Text(at+".url") == "" || report.Text(at+".response.status") != "ready" ||
			report.Text(at+".response.modulesReady.0.driver") == "" {
			t.Errorf("%s: %s", service, report.Body)
		}
	}
	some := d.admin(t).Get("/v2/readiness?services=events,api-gateway").Want(http.StatusOK)
	if services, _ := some.At("services").(map[string]any); len(services) != 2 {
		t.Errorf("%s", some.Body)
	}
}

// F-RDY-01: a failing module makes the report 400 and names itself; the report is kept for 30 seconds, good or bad.
func TestFailingModule(t *testing.T) {
	t.Parallel()
	blobs := filepath.Join(t.TempDir(), "blobs")
	d, clk := startAt(t, "WORKSPACES_STORAGE_FILESYSTEM_DIRPATH="+blobs)
	admin := d.admin(t)
	admin.Get("/v2/readiness").Want(http.StatusOK)
	inUse, away := filepath.Join(blobs, "tmp"), filepath.Join(blobs, "away")
	if err := os.Rename(inUse, away); err != nil { // nothing can be written any more
		t.Fatal(err)
	}
	clk.Advance(30*time.Second - time.Millisecond)
	admin.Get("/v2/readiness").Want(http.StatusOK)
	clk.Advance(time.Millisecond)
	failed := admin.Get("/v2/readiness").Want(http.StatusBadRequest)
	mustBeNamed(t, answer{Response: &http.Response{Header: failed.Header}})
	if failed.Text("status") != "error" || failed.Text("services.workspaces.status") != "error" || failed.Text("services.events.status") != "ready" {
		t.Errorf("%s", failed.Body)
	}
	at := "services.workspaces.errors.0."
	if failed.Text(at+"module") != "dsul" || failed.Text(at+"driver") == "" || failed.Text(at+"error") == "" || failed.Text(at+"message") == "" {
		t.Errorf("%s", failed.Body)
	}
	if err := os.Rename(away, inUse); err != nil {
		t.Fatal(err)
	}
	admin.Get("/v2/readiness").Want(http.StatusBadRequest)
	clk.Advance(30 * time.Second)
	admin.Get("/v2/readiness").Want(http.StatusOK)
}
