package e2e_test

import (
	"net/http"
	"testing"

	"atelier/internal/app/apptest"
)

// A public page is for everybody, also for a browser whose session has ended; whoever is signed in gets what writes need.
func TestPagesAreShown(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		const slug, email = "shown", "shown@example.test"
		signUp(t, it, email)
		signed := it.Anyone().Post("/v2/login", map[string]any{"email": email, "password": password}).Want(http.StatusOK)
		browser := it.Anyone().With("Cookie", "access-token="+cookieOf(t, signed, "access-token").Value)
		owner := it.Anyone()
		owner.Token = signed.Text("token")
		id := owner.Post("/v2/workspaces", map[string]any{"name": "Shown", "slug": slug}).Want(http.StatusCreated).Text("id")
		page := owner.Post("/v2/workspaces/"+id+"/pages", map[string]any{"name": "Home", "slug": "a/home"}).Want(http.StatusCreated).Text("id")
		const address = "/v2/pages/" + slug + "/a/home"
		it.Anyone().Get(address).WantError(http.StatusUnauthorized, "missing_token")
		it.Visitor().Get(address).WantError(http.StatusForbidden, "workspace_access_denied")

		shown := browser.Get(address).Want(http.StatusOK)
		csrf := shown.Header.Get("X-Svc-Csrf-Token")
		if csrf == "" || csrf != browser.Get("/v2/me").Want(http.StatusOK).Header.Get("X-Svc-Csrf-Token") {
			t.Errorf("the token for writes is %q", csrf)
		}
		if owner.Get(address).Want(http.StatusOK).Header.Get("X-Svc-Csrf-Token") != "" {
			t.Error("a bearer token needs no token for writes, but gets one")
		}
		sharing := "/v2/pages/" + page + "/permissions"
		public := map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true}}}
		browser.Post(sharing, public).WantError(http.StatusUnauthorized, "invalid_token")
		browser.With("X-Svc-Csrf-Token", csrf).Post(sharing, public).Want(http.StatusOK)

		stale := it.Anyone().With("Cookie", "access-token=stale")
		for _, everybody := range []*apptest.Client{it.Anyone(), it.Visitor(), stale} {
			if got := everybody.Get(address).Want(http.StatusOK); got.Text("name") != "Home" || got.Text("public") != "true" || got.Text("workspaceId") != id || got.Header.Get("X-Svc-Csrf-Token") != "" {
				t.Errorf("shown: %v %s", got.Header, got.Body)
			}
		}
		stale.Post(sharing, public).WantError(http.StatusUnauthorized, "invalid_token")
		it.Anyone().Get("/v3/pages/" + slug + "/a/home").Want(http.StatusOK)
		it.Anyone().Get(address + "/").Want(http.StatusOK)
		it.Anyone().Get("/v2/pages/"+slug).WantError(http.StatusUnauthorized, "missing_token")
		it.Anyone().Get("/v2/pages").WantError(http.StatusNotFound, "resource_not_found")
	})
}
