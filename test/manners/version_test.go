package manners_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// B-HTP-08: the date selects the behaviour; what is not a day of the past is refused; the version used is always named.
func TestVersionDates(t *testing.T) {
	t.Parallel()
	d, _ := startAt(t, "OVERWRITE_CORRELATION_ID_HEADER=no") // 2026-03-01
	correlationIDIsKept(t, d)
	const used = "X-Svc-Api-Version-Used"
	for date, ok := range map[string]bool{
		"2025-01-01": true, "2025-06-30": true, "2026-03-01": true, "2024-02-29": false, "2024-12-31": false, "2026-03-02": false,
		"9999-99-99": false, "2025-02-30": false, "2025-1-1": false, "2025-01-01T00:00:00Z": false, "25-01-01": false, "today": false,
		"": false, "2025-01-01 ": true, // the space around a header's value is not part of it
		"2025-01-01, 2025-01-01": false, "' or 1=1--": false, "２０２５-01-01": false, strings.Repeat("2", 8000): false,
	} {
		got := d.anyone(t).With("X-Svc-Api-Version", date).Get("/")
		if ok {
			got.Want(http.StatusOK)
		} else {
			got.WantError(http.StatusBadRequest, "invalid_parameter").WantField("X-Svc-API-Version")
		}
		if got.Header.Get(used) != "2025-01-01" {
			t.Errorf("%q: used %q", date, got.Header.Get(used))
		}
	}
	mustRefuse(t, raw(t, d, "GET / HTTP/1.1\r\nHost: x\r\nX-Svc-Api-Version: 2025-01-01\r\nx-svc-api-version: 2025-01-01\r\n\r\n"), http.StatusBadRequest)
	mustBeNested(t, of(d.anyone(t).With("X-Svc-Api-Version", "tomorrow").Get("/v3/me")), http.StatusBadRequest)
}

// B-HTP-09: /v1 is gone and processes nothing, however it is asked.
func retiredVersion(t *testing.T, d *door) {
	t.Helper()
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{"/v1", "/v1/", "/v1/workspaces", "/v1/me", "/v1/nothing"} {
			got := d.admin(t).Do(method, path, `{"name":"Retired","slug":"made-by-v1"}`)
			mustRefuse(t, of(got), http.StatusGone)
			if got.Header.Get("X-Svc-Api-Deprecation") == "" || got.Header.Get("Deprecation") == "" {
				t.Errorf("%s %s: %v", method, path, got.Header)
			}
			if ends, err := time.Parse(http.TimeFormat, got.Header.Get("Sunset")); err != nil || ends.Format(time.DateOnly) != "2025-12-31" {
				t.Errorf("Sunset: %s", got.Header.Get("Sunset"))
			}
		}
	}
	if n := count(t, d.admin(t), "made-by-v1"); n != 0 {
		t.Error("the retired version made a workspace")
	}
	if strings.Contains(d.anyone(t).Get("/").Header.Get("X-Svc-Api-Deprecation"), "v1") {
		t.Error("other versions announce the end of v1")
	}
}

// /v3 serves the same operations as /v2.
func betaVersion(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	id := admin.Post("/v3/workspaces", map[string]any{"name": "Beta"}).Want(http.StatusCreated).Text("id")
	for _, path := range []string{"/v3/workspaces/" + id, "/v2/workspaces/" + id} {
		if got := admin.Get(path).Want(http.StatusOK); got.Text("name") != "Beta" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	admin.Get("/v3/me").Want(http.StatusOK)
	admin.Get("/v3/readiness").Want(http.StatusOK)
}

// The specification's versioning paths work without /v2 too, and nothing else does.
func unversionedPaths(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	id := workspace(t, admin, "Unversioned")
	admin.Get("/workspaces/" + id).Want(http.StatusOK)
	admin.Get("/workspaces/" + id + "/events").Want(http.StatusOK)
	mustRefuse(t, of(d.anyone(t).Get("/workspaces/"+id)), http.StatusUnauthorized)
	for _, path := range []string{"/me", "/login", "/readiness", "/workspacesx/" + id} {
		mustRefuse(t, of(admin.Get(path)), http.StatusNotFound)
	}
}
