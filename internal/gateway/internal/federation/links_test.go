package federation_test

import (
	"net/http"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// link begins to link an account to a provider in a browser, and gives the address of the callback.
func (b *browser) link(h *house, c *apptest.Client, slug string) string {
	b.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.Token}}
	begun := b.do(http.MethodPost, h.URL+"/v2/user/links", `{"provider":"`+slug+`"}`, header).want(http.StatusOK)
	_, rest, _ := strings.Cut(begun.body, `"redirect":"`)
	address, _, _ := strings.Cut(rest, `"`)
	return b.get(strings.ReplaceAll(address, `\u0026`, "&")).want(http.StatusFound).location
}

func TestLinks(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p := newIDP(t, clk)
	p.says(somebody("admin-at-acme", apptest.AdminEmail, true))
	eachEngine(t, func() setup { return provided(p).with("other", p) }, func(t *testing.T, h *house) {
		admin := h.Admin()
		if got := strings.TrimSpace(string(admin.Get("/v2/user/links").Want(http.StatusOK).Body)); got != "[]" {
			t.Errorf("%s", got)
		}
		b := newBrowser(t)
		callback := b.link(h, admin, "acme")
		newBrowser(t).get(callback).want(http.StatusBadRequest) // somebody else's browser cannot add its identity to the account
		if got := b.get(callback).want(http.StatusFound); got.location != h.URL+"/account?linked=acme" || b.me(h) != nil {
			t.Errorf("sent to %s", got.location)
		}
		links := admin.Get("/v2/user/links").Want(http.StatusOK)
		if links.Text("0.provider") != "acme" || links.Text("0.id") != "admin-at-acme" || links.Text("0.email") != apptest.AdminEmail {
			t.Errorf("%s", links.Body)
		}
		if me := admin.Get("/v2/me").Want(http.StatusOK); h.wantSignedIn("provider=acme") != me.Text("id") {
			t.Error("the link does not sign in")
		}
		if got := b.get(b.link(h, admin, "acme")).want(http.StatusFound).location; got != h.URL+"/account?error=link_exists" {
			t.Errorf("a second link: %s", got)
		}
		admin.Post("/v2/user/links", map[string]any{"provider": "absent"}).WantError(http.StatusNotFound, "resource_not_found")

		signed := newBrowser(t)
		signed.signIn(h, "provider=acme").want(http.StatusFound)
		admin.Delete("/v2/user/links/acme").Want(http.StatusNoContent)
		admin.Delete("/v2/user/links/acme").WantError(http.StatusNotFound, "resource_not_found")
		signed.client(h).Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
		admin.Get("/v2/me").Want(http.StatusOK)
		h.wantRefused("provider=acme", "email_taken")
		events := admin.Get("/v2/workspaces/platform/events?types=gateway.links.created,gateway.links.deleted&sort=asc").Want(http.StatusOK)
		if events.Text("result.events.0.payload.changes.after.id") != "admin-at-acme" || events.Text("result.events.1.payload.changes.before.provider") != "acme" ||
			events.Text("result.events.0.payload.actor.userId") == "" {
			t.Errorf("events: %s", events.Body)
		}
	})
}

// An identity is linked to one account, and an account keeps a way to sign in.
func TestLinksAreExclusive(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p, other := newIDP(t, clk), newIDP(t, clk)
	h := start(t, provided(p).with("other", other))
	alice := newBrowser(t)
	alice.signIn(h, "provider=acme").want(http.StatusFound)
	b := newBrowser(t)
	if got := b.get(b.link(h, h.Admin(), "acme")).want(http.StatusFound).location; got != h.URL+"/account?error=link_taken" {
		t.Errorf("sent to %s", got)
	}
	client := alice.client(h)
	client.Delete("/v2/user/links/acme").WantError(http.StatusConflict, "resource_conflict")
	client.Get("/v2/user/links").Want(http.StatusOK)
	if got := alice.get(alice.link(h, client, "other")).want(http.StatusFound).location; got != h.URL+"/account?linked=other" {
		t.Fatalf("sent to %s", got)
	}
	client.Delete("/v2/user/links/acme").Want(http.StatusNoContent)
	client.Delete("/v2/user/links/other").WantError(http.StatusConflict, "resource_conflict")
	client.Get("/v2/me").Want(http.StatusOK)
}

// Only a person in a session of its own links; a session that ended in between does not.
func TestWhoMayLink(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	for name, c := range map[string]struct {
		caller *apptest.Client
		status int
		code   string
	}{
		"nobody":    {h.Anyone(), http.StatusUnauthorized, "missing_token"},
		"a visitor": {h.Visitor(), http.StatusForbidden, "permission_denied"},
	} {
		t.Log(name)
		c.caller.Post("/v2/user/links", map[string]any{"provider": "acme"}).WantError(c.status, c.code)
		c.caller.Get("/v2/user/links").WantError(c.status, c.code)
		c.caller.Delete("/v2/user/links/acme").WantError(c.status, c.code)
	}
	admin := h.Admin()
	b := newBrowser(t)
	callback := b.link(h, admin, "acme")
	admin.Post("/v2/logout", nil).Want(http.StatusNoContent)
	if got := b.get(callback).want(http.StatusFound).location; got != h.URL+"/account?error=session_ended" {
		t.Errorf("sent to %s", got)
	}
	if got := string(h.Admin().Get("/v2/user/links").Want(http.StatusOK).Body); strings.TrimSpace(got) != "[]" {
		t.Errorf("%s", got)
	}
}
