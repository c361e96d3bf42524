package e2e_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// A token that the client of a workspace's pages got without a question does nothing to the account behind it.
func TestPageTokensLeaveTheAccountAlone(t *testing.T) {
	t.Parallel()
	server := apptest.New(t, "PAGES_HOST=.pages.test")
	admin := server.Admin()
	workspace := newWorkspace(t, admin, "pages")
	slug := admin.Get("/v2/workspaces/" + workspace).Text("slug")
	page := server.Anyone()
	page.Token = pageToken(t, server, clientOf(t, admin, workspace), "http://"+slug+".pages.test/signin")
	me := page.Get("/v2/me").Want(http.StatusOK)
	if me.Text("platformRole") != "" || me.Text("email") != "" || me.Header.Get("X-Svc-Csrf-Token") != "" || me.Text("authData.svc.id") == "" {
		t.Errorf("me: %s", me.Body)
	}
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for call, body := range map[string]map[string]any{
		"POST /v2/user/accessTokens":     {"name": "x", "expiresAt": soon},
		"POST /v2/user/passkeys/options": {},
		"POST /v2/user/links":            {"provider": "x"},
		"PATCH /v2/user":                 {"firstName": "x"},
		"DELETE /v2/user":                nil,
		"DELETE /v2/user/sessions":       nil,
		"POST /v2/logout":                nil,
		"GET /v2/user/accessTokens":      nil,
		"POST /v2/users":                 {"email": "x@example.test", "firstName": "x"},
		"DELETE /v2/users/someone":       nil,
		"POST /v2/service-accounts":      {"slug": "x"},
		"GET /v2/workspaces":             nil,
		"POST /v2/contacts":              {"email": "x@example.test"},
	} {
		method, path, _ := strings.Cut(call, " ")
		var sent any
		if body != nil {
			sent = body
		}
		if got := page.Do(method, path, sent); got.Status != http.StatusForbidden || got.Text("error") != "insufficient_scope" {
			t.Errorf("%s: %d %s", call, got.Status, got.Body)
		}
	}
	admin.Get("/v2/me").Want(http.StatusOK)
}

// clientOf waits for the client of a workspace's pages, which is made after the workspace.
func clientOf(t *testing.T, c *apptest.Client, workspace string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if id := c.Get("/v2/workspaces/" + workspace + "/security").Want(http.StatusOK).Text("authentication.clientId"); id != "" {
			return id
		}
	}
	t.Fatal("the workspace has no client")
	return ""
}

// pageToken signs the admin's browser in to a client and gives the token that the client gets.
func pageToken(t *testing.T, server *apptest.Server, client, redirect string) string {
	t.Helper()
	answer := server.Anyone().Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword}).Want(http.StatusOK)
	browser := server.Anyone().With("Cookie", "_sessionv2="+cookieOf(t, answer, "_sessionv2").Value)
	verifier := strings.Repeat("v", 64)
	challenge := sha256.Sum256([]byte(verifier))
	asked := browser.Get("/oidc/auth?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"openid settings account workspaces:write events:read"},
		"code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode()).Want(http.StatusSeeOther)
	back, err := url.Parse(asked.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("sent to %s", asked.Header.Get("Location"))
	}
	return server.Anyone().With("Content-Type", "application/x-www-form-urlencoded").Post("/oidc/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "code_verifier": {verifier}, "client_id": {client}, "redirect_uri": {redirect},
	}.Encode()).Want(http.StatusOK).Text("access_token")
}

// Whoever signed up with somebody else's address has nothing left when its owner takes the account over.
func TestSquattedAddress(t *testing.T) {
	t.Parallel()
	server := apptest.New(t, "ACCOUNT_VALIDATION_METHOD=auto", "SUPER_ADMIN_EMAILS=boss@corp.test")
	server.Anyone().Post("/v2/signup", map[string]any{"email": "boss@corp.test", "password": password, "firstName": "x", "lastName": "y"}).Want(http.StatusCreated)
	squatter := server.Anyone().SignIn("boss@corp.test", password)
	if me := squatter.Get("/v2/me"); me.Text("platformRole") != "" || me.Text("authData.svc.email") != "" {
		t.Errorf("an address that nobody has shown to be theirs counts: %s", me.Body)
	}
	token := server.Anyone()
	token.Token = squatter.Post("/v2/user/accessTokens", map[string]any{"name": "x", "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}).Want(http.StatusCreated).Text("token")
	token.Get("/v2/me").Want(http.StatusOK)
	server.Anyone().Post("/v2/user/password", map[string]any{"email": "boss@corp.test"}).Want(http.StatusOK)
	server.Anyone().Post("/v2/user/password", map[string]any{"token": server.MailToken("boss@corp.test", "password"), "password": "the owner's password"}).Want(http.StatusOK)
	refusedSoon(t, token)
	refusedSoon(t, squatter)
	if me := server.Anyone().SignIn("boss@corp.test", "the owner's password").Get("/v2/me"); me.Text("platformRole") != "superadmin" {
		t.Errorf("me: %s", me.Body)
	}
}

// Of several who sign up with one address, the one who reads its mail and knows the newest password has the account.
func contestedSignUp(t *testing.T, it installation) {
	t.Helper()
	email := "contested@example.test"
	first := map[string]any{"email": email, "password": "the first password", "firstName": "x", "lastName": "y"}
	it.Anyone().Post("/v2/signup", first).Want(http.StatusCreated)
	stale := it.MailToken(email, "")
	first["password"] = "the second password"
	it.Anyone().Post("/v2/signup", first).Want(http.StatusCreated)
	it.Anyone().Post("/v2/user/validate", map[string]any{"token": stale}).WantError(http.StatusBadRequest, "invalid_parameter")
	token := newerToken(t, it, email, stale)
	for _, wrong := range []map[string]any{{"token": token}, {"token": token, "password": "the first password"}} {
		if got := it.Anyone().Post("/v2/user/validate", wrong).WantError(http.StatusUnauthorized, "invalid_credentials"); got.Text("details.type") != "PasswordRequired" {
			t.Errorf("%s", got.Body)
		}
	}
	it.Anyone().Post("/v2/user/validate", map[string]any{"token": token, "password": "the second password"}).Want(http.StatusOK)
	it.Anyone().SignIn(email, "the second password")
	it.Anyone().Post("/v2/login", map[string]any{"email": email, "password": "the first password"}).WantError(http.StatusUnauthorized, "invalid_credentials")
}

// newerToken waits for a mail with another token than one that was seen.
func newerToken(t *testing.T, it installation, email, seen string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if token := it.MailToken(email, ""); token != seen {
			return token
		}
	}
	t.Fatal("no second mail arrived")
	return ""
}

// A token does no more than its scopes, also in the hands of a super admin, and never makes itself stronger.
func weakTokensStayWeak(t *testing.T, it installation) {
	t.Helper()
	admin := it.Admin()
	id := signUp(t, it, "target@example.test").Get("/v2/me").Text("id")
	with := func(scopes ...string) *apptest.Client {
		c := it.Anyone()
		body := map[string]any{"name": "x", "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
		if len(scopes) > 0 {
			body["scopes"] = scopes
		}
		c.Token = admin.Post("/v2/user/accessTokens", body).Want(http.StatusCreated).Text("token")
		return c
	}
	weak := with("workspaces:read", "workspaces:write")
	weak.Delete("/v2/users/"+id).WantError(http.StatusForbidden, "insufficient_scope")
	weak.Delete("/v2/users/"+id+"/mfa").WantError(http.StatusForbidden, "insufficient_scope")
	weak.Post("/v2/service-accounts", map[string]any{"slug": "x"}).WantError(http.StatusForbidden, "insufficient_scope")
	weak.Post("/v2/contacts", map[string]any{"text": "target"}).WantError(http.StatusForbidden, "permission_denied")
	strong := with()
	strong.Get("/v2/users/" + id).Want(http.StatusOK)
	strong.Patch("/v2/users/"+id, map[string]any{"platformRole": "superadmin"}).WantError(http.StatusForbidden, "permission_denied")
	secret := admin.Post("/v2/service-accounts", map[string]any{"slug": "robot"}).Want(http.StatusCreated).Text("clientSecret")
	admin.Patch("/v2/users/sa:platform:robot", map[string]any{"platformRole": "superadmin"}).WantError(http.StatusForbidden, "permission_denied")
	robot := it.Anyone()
	robot.Token = it.Anyone().Post("/v2/service-accounts/robot/token", map[string]any{"clientSecret": secret}).Want(http.StatusOK).Text("accessToken")
	robot.Post("/v2/user/accessTokens", map[string]any{"name": "x", "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}).WantError(http.StatusForbidden, "permission_denied")
}

// Two super admins who demote each other at once leave one.
func TestLastSuperAdmin(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		t.Helper()
		first, second := it.Admin(), signUp(t, it, "second@example.test")
		ids := []string{first.Get("/v2/me").Text("id"), second.Get("/v2/me").Text("id")}
		first.Patch("/v2/users/"+ids[1], map[string]any{"platformRole": "superadmin"}).Want(http.StatusOK)
		for deadline := time.Now().Add(5 * time.Second); second.Get("/v2/users/"+ids[0]).Status != http.StatusOK && time.Now().Before(deadline); {
			continue // another instance may believe the old role for two seconds
		}
		var wait sync.WaitGroup
		statuses := make([]int, 2)
		for i, c := range []*apptest.Client{first, second} {
			wait.Go(func() { statuses[i] = c.Patch("/v2/users/"+ids[1-i], map[string]any{"platformRole": "none"}).Status })
		}
		wait.Wait()
		if statuses[0] == http.StatusOK && statuses[1] == http.StatusOK || statuses[0] != http.StatusOK && statuses[1] != http.StatusOK {
			t.Errorf("answers %v: exactly one may succeed", statuses)
		}
	})
}
