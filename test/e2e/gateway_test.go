package e2e_test

import (
	"net/http"
	"testing"

	"atelier/internal/app/apptest"
)

func TestManners(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		admin.Get("/v2/workspaces/x/nowhere").WantError(http.StatusNotFound, "resource_not_found")
		admin.Do(http.MethodPut, "/v2/workspaces", `{}`).WantError(http.StatusMethodNotAllowed, "invalid_request")
		admin.Post("/v2/workspaces", `{"name":"a","name":"b"}`).WantError(http.StatusBadRequest, "invalid_request")
		admin.Post("/v2/workspaces", `{"name":"a","owner":"me"}`).WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("owner")
		admin.Get("/v2/workspaces?limit=0").WantError(http.StatusBadRequest, "invalid_parameter").WantField("limit")
		admin.Get("/v1/workspaces").WantError(http.StatusGone, "invalid_request")
		nested := admin.Get("/v3/workspaces/NoSuch0").Want(http.StatusNotFound)
		if nested.Text("error.code") != "resource_not_found" || nested.Text("error.requestId") != nested.Header.Get("X-Correlation-Id") {
			t.Errorf("nested: %s", nested.Body)
		}
		problem := admin.With("Accept", "application/problem+json").Get("/v2/workspaces/NoSuch0").Want(http.StatusNotFound)
		if problem.Header.Get("Content-Type") != "application/problem+json" || problem.Text("code") != "resource_not_found" {
			t.Errorf("problem: %v %s", problem.Header, problem.Body)
		}
		if used := admin.With("X-Svc-Api-Version", "2025-06-01").Get("/v2/workspaces").Want(http.StatusOK).Header.Get("X-Svc-Api-Version-Used"); used != "2025-01-01" {
			t.Errorf("version used: %q", used)
		}
		unversioned := admin.Get("/workspaces/platform").Want(http.StatusOK)
		if unversioned.Text("id") != "platform" {
			t.Errorf("without a version: %s", unversioned.Body)
		}
		for name, values := range unversioned.Header {
			if len(values) > 1 && name != "Vary" {
				t.Errorf("%s is sent twice: %v", name, values)
			}
		}
	})
}

// What a client says about its identity is dropped, however it is spelt.
func TestIdentityHeadersAreDropped(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin().Get("/v2/me").Want(http.StatusOK).Text("id")
		for _, name := range []string{"X-Svc-User-Id", "x_svc_user_id", "X-Svc-Role", "X-Svc-Proof"} {
			c := it.Visitor()
			c.Header[name] = []string{admin}
			c.Header["Connection"] = []string{name}
			c.Get("/v2/workspaces/platform").WantError(http.StatusForbidden, "workspace_access_denied")
		}
		nobody := it.Anyone().With("X-Svc-User-Id", admin)
		nobody.Get("/v2/workspaces").WantError(http.StatusUnauthorized, "missing_token")
	})
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		internal := it.Anyone().With("X-Svc-Api-Key", apptest.InternalKey)
		for _, c := range []*apptest.Client{it.Admin(), internal} {
			report := c.Get("/v2/readiness").Want(http.StatusOK)
			if report.Text("status") != "ready" || report.Text("services.api-gateway.modulesReady.0.module") == "" {
				t.Errorf("report: %s", report.Body)
			}
			for _, service := range []string{"workspaces", "events", "runtime"} {
				if report.Text("services."+service+".response.status") != "ready" || report.Text("services."+service+".url") == "" {
					t.Errorf("%s: %s", service, report.Body)
				}
			}
		}
		some := internal.Get("/v2/readiness?services=events,nonsense").Want(http.StatusOK)
		if some.At("services.events") == nil || some.At("services.workspaces") != nil {
			t.Errorf("some: %s", some.Body)
		}
		it.Visitor().Get("/v2/readiness").WantError(http.StatusForbidden, "permission_denied")
		it.Anyone().Get("/v2/readiness").WantError(http.StatusUnauthorized, "missing_token")
		it.Anyone().With("X-Svc-Api-Key", "wrong").Get("/v2/readiness").WantError(http.StatusUnauthorized, "invalid_credentials")
	})
}

func TestOperatorEndpoints(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		servers := map[string]string{"gateway": it.URL}
		for name, service := range it.services {
			servers[name] = service.URL
		}
		for name, url := range servers {
			c := apptest.NewClient(t, url)
			for _, path := range []string{"/healthz", "/readyz", "/version", "/sys/healthcheck"} {
				if c.Get(path).Want(http.StatusOK).Header.Get("X-Correlation-Id") == "" {
					t.Errorf("%s%s has no correlation id", name, path)
				}
			}
			c.Get("/metrics").WantError(http.StatusForbidden, "permission_denied")
			if metrics := c.With("Authorization", "Bearer "+apptest.InternalKey).Get("/metrics").Want(http.StatusOK); len(metrics.Body) == 0 {
				t.Errorf("%s has no metrics", name)
			}
		}
	})
}
