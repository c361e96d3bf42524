package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

const password = "a password for tests"

// The scenarios of accounts share one installation of each topology: everybody in them has an address of their own.
func TestAccounts(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		t.Helper()
		for name, scenario := range map[string]func(*testing.T, installation){
			"sign-up by mail": signUpByMail, "passwords": passwords, "access tokens": accessTokens, "cookies": cookies, "sessions": sessions,
			"profile": profile, "deletion": accountDeletion, "administration": userAdministration, "service accounts": serviceAccounts,
			"contested sign-up": contestedSignUp, "weak tokens": weakTokensStayWeak,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				own := it
				own.Server = it.On(t)
				scenario(t, own)
			})
		}
	})
}

// signUp makes an account that is validated by the mailed link, and gives a client that is signed in to it.
func signUp(t *testing.T, it installation, email string) *apptest.Client {
	t.Helper()
	made := it.Anyone().Post("/v2/signup", map[string]any{"email": email, "password": password, "firstName": "Ada", "lastName": "L"}).Want(http.StatusCreated)
	if made.Text("validation") != "email" || made.Text("status") != "pending" {
		t.Fatalf("signed up: %s", made.Body)
	}
	it.Anyone().Post("/v2/login", map[string]any{"email": email, "password": password}).WantError(http.StatusUnauthorized, "invalid_credentials")
	token := it.MailToken(email, "")
	it.Anyone().Post("/v2/user/validate", map[string]any{"token": token}).Want(http.StatusOK)
	it.Anyone().Post("/v2/user/validate", map[string]any{"token": token}).WantError(http.StatusBadRequest, "invalid_parameter")
	return it.Anyone().SignIn(email, password)
}

func signUpByMail(t *testing.T, it installation) {
	t.Helper()
	ada := signUp(t, it, "ada@example.test")
	me := ada.Get("/v2/me").Want(http.StatusOK)
	if me.Text("email") != "ada@example.test" || me.Text("status") != "validated" || me.Text("authData.svc.email") != "ada@example.test" {
		t.Errorf("me: %s", me.Body)
	}
	// Whether an address has an account is told to its owner only.
	fresh := it.Anyone().Post("/v2/signup", map[string]any{"email": "new@example.test", "password": password, "firstName": "N", "lastName": "N"})
	known := it.Anyone().Post("/v2/signup", map[string]any{"email": "ADA@example.test", "password": "another password", "firstName": "N", "lastName": "N"})
	if fresh.Status != known.Status || known.Text("validation") != fresh.Text("validation") || known.Text("id") == me.Text("id") {
		t.Errorf("%d %s\n%d %s", fresh.Status, fresh.Body, known.Status, known.Body)
	}
	it.Anyone().Post("/v2/login", map[string]any{"email": "ada@example.test", "password": "another password"}).WantError(http.StatusUnauthorized, "invalid_credentials")
	for field, body := range map[string]map[string]any{
		"email":     {"email": "no address", "password": password, "firstName": "A", "lastName": "B"},
		"password":  {"email": "b@example.test", "password": "short", "firstName": "A", "lastName": "B"},
		"firstName": {"email": "b@example.test", "password": password, "firstName": "", "lastName": "B"},
		"role":      {"email": "b@example.test", "password": password, "firstName": "A", "lastName": "B", "role": "superadmin"},
	} {
		it.Anyone().Post("/v2/signup", body).WantError(http.StatusUnprocessableEntity, "validation_failed").WantField(field)
	}
}

func passwords(t *testing.T, it installation) {
	t.Helper()
	email := "grace@example.test"
	first, second := signUp(t, it, email), it.Anyone().SignIn(email, password)
	first.Post("/v2/user/password", map[string]any{"currentPassword": "wrong", "password": "another password"}).WantError(http.StatusUnauthorized, "invalid_credentials")
	first.Post("/v2/user/password", map[string]any{"currentPassword": password, "password": "x"}).WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("password")
	first.Post("/v2/user/password", map[string]any{"currentPassword": password, "password": "another password"}).Want(http.StatusOK)
	first.Get("/v2/me").Want(http.StatusOK)
	refusedSoon(t, second)
	// A mailed link sets a password once, and signs everybody out.
	if got := it.Anyone().Post("/v2/user/password", map[string]any{"email": email}).Want(http.StatusOK); strings.Contains(string(got.Body), email) {
		t.Errorf("asking for a reset tells something: %s", got.Body)
	}
	it.Anyone().Post("/v2/user/password", map[string]any{"email": "nobody@example.test"}).Want(http.StatusOK)
	token := it.MailToken(email, "password")
	it.Anyone().Post("/v2/user/password", map[string]any{"token": token + "x", "password": "a third password"}).WantError(http.StatusBadRequest, "invalid_parameter")
	it.Anyone().Post("/v2/user/validate", map[string]any{"token": token}).WantError(http.StatusBadRequest, "invalid_parameter") // for another purpose
	it.Anyone().Post("/v2/user/password", map[string]any{"token": token, "password": "a third password"}).Want(http.StatusOK)
	it.Anyone().Post("/v2/user/password", map[string]any{"token": token, "password": "a fourth password"}).WantError(http.StatusBadRequest, "invalid_parameter")
	refusedSoon(t, first)
	it.Anyone().SignIn(email, "a third password")
}

// refusedSoon waits until a client's token is refused: what other instances believe may be two seconds old.
func refusedSoon(t *testing.T, c *apptest.Client) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if got := c.Get("/v2/me"); got.Status == http.StatusUnauthorized {
			return
		}
	}
	t.Error("the token is still accepted after five seconds")
}

func accessTokens(t *testing.T, it installation) {
	t.Helper()
	ada := signUp(t, it, "tokens@example.test")
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	made := ada.Post("/v2/user/accessTokens", map[string]any{"name": "ci", "expiresAt": soon}).Want(http.StatusCreated)
	secret := made.Text("token")
	if !strings.HasPrefix(secret, "at:") || made.Text("_id") == "" || made.Text("_id") != made.Text("id") || made.Text("userId") == "" || made.Text("name") != "ci" {
		t.Fatalf("made: %s", made.Body)
	}
	machine := it.Anyone()
	machine.Token = secret
	if me := machine.Get("/v2/me").Want(http.StatusOK); me.Text("sessionId") != "at:"+made.Text("id") {
		t.Errorf("me: %s", me.Body)
	}
	workspace := newWorkspace(t, machine, "by token")
	machine.Get("/v2/workspaces/" + workspace).Want(http.StatusOK)
	machine.Post("/v2/user/accessTokens", map[string]any{"name": "more", "expiresAt": soon}).WantError(http.StatusForbidden, "permission_denied")
	it.Visitor().Post("/v2/user/accessTokens", map[string]any{"name": "more", "expiresAt": soon}).WantError(http.StatusForbidden, "permission_denied")
	if list := ada.Get("/v2/user/accessTokens").Want(http.StatusOK); strings.Contains(string(list.Body), secret) || list.Text("0.token") == "" {
		t.Errorf("list: %s", list.Body)
	}
	// A token of few scopes does only that.
	small := it.Anyone()
	small.Token = ada.Post("/v2/user/accessTokens", map[string]any{"name": "small", "expiresAt": soon, "scopes": []string{"events:read"}}).Want(http.StatusCreated).Text("token")
	small.Get("/v2/workspaces/"+workspace).WantError(http.StatusForbidden, "insufficient_scope")
	small.Get("/v2/workspaces/" + workspace + "/events").Want(http.StatusOK)
	for _, bad := range []string{secret[:len(secret)-1], secret + "A", strings.ToUpper(secret), "at:" + secret, " " + secret, strings.Replace(secret, ":", "%3A", 1)} {
		c := it.Anyone()
		c.Token = bad
		c.Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
	}
	for name, at := range map[string]any{
		"past": "2020-01-01T00:00:00Z", "far": "2099-01-01T00:00:00Z", "no zone": "2027-01-01T00:00:00", "number": 1900000000, "year": "+275760-09-13T00:00:00Z", "leap": "2026-12-31T23:59:60Z",
	} {
		if got := ada.Post("/v2/user/accessTokens", map[string]any{"name": name, "expiresAt": at}); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	ada.Delete("/v2/user/accessTokens/" + secret).Want(http.StatusOK)
	ada.Delete("/v2/user/accessTokens/"+secret).WantError(http.StatusNotFound, "resource_not_found")
	refusedSoon(t, machine)
}

// A browser's cookie counts for reading; for writing only with the token that our own pages can read.
func cookies(t *testing.T, it installation) {
	t.Helper()
	email := "cookie@example.test"
	signUp(t, it, email)
	answer := it.Anyone().Post("/v2/login", map[string]any{"email": email, "password": password}).Want(http.StatusOK)
	cookie := cookieOf(t, answer, "access-token")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Domain != "" || cookie.Value != answer.Text("token") {
		t.Errorf("cookie: %+v", cookie)
	}
	browser := it.Anyone().With("Cookie", "access-token="+cookie.Value)
	me := browser.Get("/v2/me").Want(http.StatusOK)
	csrf := me.Header.Get("X-Svc-Csrf-Token")
	change := map[string]any{"firstName": "Grace"}
	browser.Patch("/v2/user", change).WantError(http.StatusUnauthorized, "invalid_token")
	browser.With("X-Svc-Csrf-Token", csrf+"x").Patch("/v2/user", change).WantError(http.StatusUnauthorized, "invalid_token")
	browser.Post("/v2/workspaces", map[string]any{"name": "w"}).WantError(http.StatusUnauthorized, "invalid_token")
	proven := browser.With("X-Svc-Csrf-Token", csrf)
	for name, headers := range map[string][2]string{
		"cross site": {"Sec-Fetch-Site", "cross-site"}, "same site": {"Sec-Fetch-Site", "same-site"}, "null": {"Origin", "null"}, "evil": {"Origin", "https://evil.test"},
	} {
		if got := proven.With(headers[0], headers[1]).Patch("/v2/user", change); got.Status != http.StatusForbidden || got.Text("error") != "permission_denied" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	proven.Patch("/v2/user", change).Want(http.StatusOK)
	proven.With("Sec-Fetch-Site", "same-origin").Patch("/v2/user", change).Want(http.StatusOK)
	bearer := it.Anyone().With("Sec-Fetch-Site", "cross-site")
	bearer.Token = cookie.Value
	bearer.Patch("/v2/user", change).Want(http.StatusOK) // a token that is sent on purpose needs no proof
	// An access token is not for cookies, and a stale cookie does not keep anybody from signing in.
	it.Anyone().With("Cookie", "access-token=at:"+strings.Repeat("a", 43)).Get("/v2/me").WantError(http.StatusUnauthorized, "invalid_token")
	it.Anyone().With("Cookie", "access-token=stale").Post("/v2/login", map[string]any{"email": email, "password": password}).Want(http.StatusOK)
	gone := cookieOf(t, proven.Post("/v2/logout", nil).Want(http.StatusNoContent), "access-token")
	if gone.MaxAge >= 0 || gone.Path != cookie.Path || gone.HttpOnly != cookie.HttpOnly || gone.SameSite != cookie.SameSite {
		t.Errorf("cleared: %+v", gone)
	}
	refusedSoon(t, browser)
}

func cookieOf(t *testing.T, answer *apptest.Response, name string) *http.Cookie {
	t.Helper()
	for _, cookie := range (&http.Response{Header: answer.Header}).Cookies() {
		if cookie.Name == name {
			return cookie
		}
	}
	t.Fatalf("no cookie %s: %v", name, answer.Header)
	return nil
}

func sessions(t *testing.T, it installation) {
	t.Helper()
	email := "sessions@example.test"
	first := signUp(t, it, email)
	second, third := it.Anyone().With("User-Agent", "second").SignIn(email, password), it.Anyone().SignIn(email, password)
	list := first.Get("/v2/user/sessions").Want(http.StatusOK)
	var sessions []struct {
		ID, Agent string
		Current   bool
	}
	list.Into(&sessions)
	if len(sessions) != 3 {
		t.Fatalf("sessions: %s", list.Body)
	}
	for _, s := range sessions {
		if s.Agent == "second" {
			first.Delete("/v2/user/sessions/" + s.ID).Want(http.StatusOK)
			signUp(t, it, "stranger@example.test").Delete("/v2/user/sessions/"+sessions[0].ID).WantError(http.StatusNotFound, "resource_not_found")
		}
	}
	refusedSoon(t, second)
	if got := first.Delete("/v2/user/sessions?others=true").Want(http.StatusOK); got.Text("count") != "1" {
		t.Errorf("ended: %s", got.Body)
	}
	refusedSoon(t, third)
	first.Get("/v2/me").Want(http.StatusOK)
	first.Delete("/v2/user/sessions").Want(http.StatusOK)
	refusedSoon(t, first)
}

func profile(t *testing.T, it installation) {
	t.Helper()
	ada := signUp(t, it, "profile@example.test")
	ada.Patch("/v2/user", map[string]any{"firstName": "Ada", "language": "fr", "meta": map[string]any{"a": 1, "b": 2}}).Want(http.StatusOK)
	if got := ada.Post("/v2/user/meta", map[string]any{"b": nil, "c": "x"}).Want(http.StatusOK); got.Text("a") != "1" || got.Text("b") != "" || got.Text("c") != "x" {
		t.Errorf("meta: %s", got.Body)
	}
	ada.Delete("/v2/user/meta/a").Want(http.StatusOK)
	ada.Delete("/v2/user/meta/a").WantError(http.StatusNotFound, "resource_not_found")
	for _, field := range []string{"email", "status", "platformRole", "emailVerified", "id", "groups", "mfa", "authData"} {
		ada.Patch("/v2/user", map[string]any{field: "x"}).WantError(http.StatusUnprocessableEntity, "validation_failed").WantField(field)
	}
	ada.Post("/v2/user/meta", map[string]any{"big": strings.Repeat("x", 40_000)}).WantError(http.StatusUnprocessableEntity, "validation_failed")
	photo := uploadPhoto(t, ada, picture(t)).Want(http.StatusOK).Text("photo")
	_, path, _ := strings.Cut(photo, "/v2/")
	if got := it.Anyone().Get("/v2/" + path).Want(http.StatusOK); got.Header.Get("Content-Type") != "image/png" || !bytes.Equal(got.Body, picture(t)) {
		t.Errorf("photo: %v", got.Header)
	}
	uploadPhoto(t, ada, []byte("<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")).WantError(http.StatusUnprocessableEntity, "validation_failed").WantField("photo")
	uploadPhoto(t, ada, make([]byte, 4_000_001)).WantError(http.StatusRequestEntityTooLarge, "invalid_request")
	it.Anyone().Get("/v2/photos/"+strings.Repeat("0", 64)).WantError(http.StatusNotFound, "resource_not_found")
	it.Anyone().Get("/v2/photos/..%2f..%2fetc").WantError(http.StatusBadRequest, "invalid_request")
}

func picture(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := png.Encode(&text, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func uploadPhoto(t *testing.T, c *apptest.Client, content []byte) *apptest.Response {
	t.Helper()
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("photo", "me.png")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(content)
	_ = writer.Close()
	return c.With("Content-Type", writer.FormDataContentType()).Post("/v2/user/photo", form.Bytes())
}

func accountDeletion(t *testing.T, it installation) {
	t.Helper()
	email := "leaving@example.test"
	leaving := signUp(t, it, email)
	id := leaving.Get("/v2/me").Want(http.StatusOK).Text("id")
	leaving.Delete("/v2/user").Want(http.StatusOK)
	token := it.MailToken(email, "elet")
	leaving.Delete("/v2/users/"+id).WantError(http.StatusForbidden, "permission_denied")
	it.Anyone().Delete("/v2/users/000000000000000000000000?token="+token).WantError(http.StatusForbidden, "permission_denied")
	leaving.Get("/v2/me").Want(http.StatusOK)
	it.Anyone().Delete("/v2/users/" + id + "?token=" + token).Want(http.StatusOK)
	refusedSoon(t, leaving)
	it.Anyone().Post("/v2/login", map[string]any{"email": email, "password": password}).WantError(http.StatusUnauthorized, "invalid_credentials")
}

func userAdministration(t *testing.T, it installation) {
	t.Helper()
	admin, user := it.Admin(), signUp(t, it, "managed@example.test")
	id := user.Get("/v2/me").Text("id")
	user.Patch("/v2/users/"+id, map[string]any{"platformRole": "superadmin"}).WantError(http.StatusForbidden, "permission_denied")
	admin.Patch("/v2/users/"+id, map[string]any{"groups": []string{"b", "a"}, "platformRole": "superadmin"}).Want(http.StatusOK)
	admin.Patch("/v2/users", map[string]any{
		"query": map[string]any{"emails": []string{"managed@example.test", "nobody@example.test"}}, "behaviour": map[string]any{"groups": "add"}, "data": map[string]any{"groups": []string{"c"}},
	}).Want(http.StatusOK)
	got := admin.Get("/v2/users/" + id).Want(http.StatusOK)
	if got.Text("groups") != "[a b c]" || got.Text("platformRole") != "superadmin" {
		t.Errorf("user: %s", got.Body)
	}
	found := admin.Post("/v2/contacts", map[string]any{"text": "MANAGED@"}).Want(http.StatusOK)
	if found.Text("size") != "1" || found.Text("contacts.0.email") != "managed@example.test" {
		t.Errorf("contacts: %s", found.Body)
	}
	other := signUp(t, it, "other@example.test")
	if got := other.Post("/v2/contacts", map[string]any{"email": "managed@example.test"}).Want(http.StatusOK); got.Text("contacts.0.id") != id || got.Text("contacts.0.status") != "" {
		t.Errorf("contact: %s", got.Body)
	}
	if got := other.Post("/v2/contacts", map[string]any{"email": "managed"}).Want(http.StatusOK); got.Text("size") != "0" {
		t.Errorf("part of an address finds somebody: %s", got.Body)
	}
	other.Post("/v2/contacts", map[string]any{"text": "managed"}).WantError(http.StatusForbidden, "permission_denied")
	it.Visitor().Post("/v2/contacts", map[string]any{"email": "managed@example.test"}).WantError(http.StatusForbidden, "permission_denied")
	it.Anyone().Post("/v2/contacts", map[string]any{"email": "managed@example.test"}).WantError(http.StatusUnauthorized, "missing_token")
	admin.Patch("/v2/users/"+id, map[string]any{"status": "deactivated"}).Want(http.StatusOK)
	refusedSoon(t, user)
	it.Anyone().Post("/v2/login", map[string]any{"email": "managed@example.test", "password": password}).WantError(http.StatusUnauthorized, "invalid_credentials")
	self := admin.Get("/v2/me").Text("id")
	admin.Patch("/v2/users/"+self, map[string]any{"platformRole": "none"}).WantError(http.StatusConflict, "resource_conflict")
	admin.Delete("/v2/users/"+self).WantError(http.StatusConflict, "resource_conflict")
	made := admin.Post("/v2/users", map[string]any{"email": "invited@example.test", "firstName": "In"}).Want(http.StatusCreated)
	token := it.MailToken("invited@example.test", "password")
	it.Anyone().Post("/v2/user/password", map[string]any{"token": token, "password": password}).Want(http.StatusOK)
	if got := it.Anyone().SignIn("invited@example.test", password).Get("/v2/me"); got.Text("id") != made.Text("id") {
		t.Errorf("me: %s", got.Body)
	}
}

func serviceAccounts(t *testing.T, it installation) {
	t.Helper()
	admin := it.Admin()
	made := admin.Post("/v2/service-accounts", map[string]any{"slug": "deployer", "scopes": []string{"workspaces:read", "workspaces:write"}}).Want(http.StatusCreated)
	secret := made.Text("clientSecret")
	admin.Post("/v2/service-accounts", map[string]any{"slug": "deployer"}).WantError(http.StatusConflict, "resource_already_exists")
	admin.Post("/v2/service-accounts", map[string]any{"slug": "x", "scopes": []string{"everything"}}).WantError(http.StatusUnprocessableEntity, "validation_failed")
	if list := admin.Get("/v2/service-accounts"); strings.Contains(string(list.Body), secret) {
		t.Errorf("list: %s", list.Body)
	}
	it.Anyone().Post("/v2/service-accounts/deployer/token", map[string]any{"clientSecret": secret + "x"}).WantError(http.StatusUnauthorized, "invalid_credentials")
	it.Anyone().Post("/v2/service-accounts/nobody/token", map[string]any{"clientSecret": secret}).WantError(http.StatusUnauthorized, "invalid_credentials")
	machine := it.Anyone()
	machine.Token = it.Anyone().Post("/v2/service-accounts/deployer/token", map[string]any{"clientSecret": secret, "expiresIn": 600}).Want(http.StatusOK).Text("accessToken")
	if me := machine.Get("/v2/me").Want(http.StatusOK); me.Text("id") != "sa:platform:deployer" {
		t.Errorf("me: %s", me.Body)
	}
	machine.Get("/v2/workspaces/" + newWorkspace(t, machine, "by machine")).Want(http.StatusOK)
	rotated := admin.Post("/v2/service-accounts/deployer/rotate", nil).Want(http.StatusOK).Text("clientSecret")
	refusedSoon(t, machine)
	it.Anyone().Post("/v2/service-accounts/deployer/token", map[string]any{"clientSecret": secret}).WantError(http.StatusUnauthorized, "invalid_credentials")
	machine.Token = it.Anyone().Post("/v2/service-accounts/deployer/token", map[string]any{"clientSecret": rotated}).Want(http.StatusOK).Text("accessToken")
	admin.Patch("/v2/service-accounts/deployer", map[string]any{"disabled": true}).Want(http.StatusOK)
	refusedSoon(t, machine)
	admin.Delete("/v2/service-accounts/deployer").Want(http.StatusOK)
	admin.Get("/v2/service-accounts/deployer").WantError(http.StatusNotFound, "resource_not_found")
}
