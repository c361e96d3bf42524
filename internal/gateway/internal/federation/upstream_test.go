package federation_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// A whole Atelier is the provider of another one: discovery, PKCE, the sign-in page, the ID token, the account.
func TestAnotherAtelierIsTheProvider(t *testing.T) {
	t.Parallel()
	clk := newClock()
	up, down := apptest.Listen(t), apptest.Listen(t)
	issuer, home := "http://"+up.Addr().String(), "http://"+down.Addr().String()
	clients, err := json.Marshal([]map[string]any{{"client_id": "downstream", "redirect_uris": []string{home + "/v2/login/callback"}}})
	if err != nil {
		t.Fatal(err)
	}
	upstream := apptest.StartOn(t, clk, up, "DATA_DIR="+t.TempDir(), "API_URL="+issuer+"/v2", "OIDC_EXTERNAL_CLIENTS="+string(clients))
	h := startAt(t, down, setup{clk: clk, providers: map[string]string{
		"upstream": "    type: oidc\n    issuer: " + issuer + "\n    client_id: downstream\n",
	}}, "DATA_DIR="+t.TempDir(), "ADMIN_EMAIL=other@example.test")

	b := newBrowser(t)
	away := b.get(h.URL + "/v2/login?provider=upstream&return_to=/reports").want(http.StatusFound)
	page := b.get(away.location).want(http.StatusSeeOther)
	u, err := url.Parse(page.location)
	if err != nil || u.Query().Get("interaction") == "" {
		t.Fatalf("sent to %s", page.location)
	}
	form := url.Values{"login": {apptest.AdminEmail}, "password": {apptest.AdminPassword}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {issuer}, "Sec-Fetch-Site": {"same-origin"}}
	next := b.do(http.MethodPost, upstream.URL+"/oidc/interaction/"+u.Query().Get("interaction")+"/login", form.Encode(), header)
	for range 10 {
		if next.location == "" || strings.HasPrefix(next.location, h.URL+"/reports") {
			break
		}
		at := next.location
		if strings.HasPrefix(at, "/") {
			at = issuer + at
		}
		next = b.get(at)
	}
	if next.location != h.URL+"/reports" {
		t.Fatalf("%d %s %s", next.status, next.location, next.body)
	}
	me := b.client(h).Get("/v2/me").Want(http.StatusOK)
	above := upstream.Admin().Get("/v2/me").Want(http.StatusOK)
	if me.Text("authData.upstream.id") != above.Text("id") || me.Text("id") == above.Text("id") || me.Text("platformRole") != "" {
		t.Errorf("%s\n%s", me.Body, above.Body)
	}
}
