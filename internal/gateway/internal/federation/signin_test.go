package federation_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

func TestSignInMakesAnAccount(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p := newIDP(t, clk)
	p.claims["locale"] = "fr-CH"
	p.claims["groups"] = []string{"makers", "readers"}
	p.claims["nested"] = map[string]any{"a": 1}
	p.claims["id"] = "somebody else"
	eachEngine(t, func() setup { return provided(p, "domains: [example.com]") }, func(t *testing.T, h *house) {
		b := newBrowser(t)
		if got := b.signIn(h, "provider=acme").want(http.StatusFound); got.location != h.URL+"/account" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("sent to %s %v", got.location, got.header)
		}
		me := b.me(h).Want(http.StatusOK)
		for path, want := range map[string]string{
			"email": "alice@example.com", "firstName": "Alice", "lastName": "Archer", "language": "fr", "status": "validated",
			"authData.acme.id": "alice", "authData.acme.groups.1": "readers", "authData.acme.nested": "", "authData.acme.iss": "",
			"authData.acme.nonce": "", "authData.svc": "",
		} {
			if got := me.Text(path); got != want {
				t.Errorf("%s is %q, want %q\n%s", path, got, want, me.Body)
			}
		}
		if again := h.wantSignedIn("provider=acme"); again != me.Text("id") {
			t.Errorf("another account: %s", again)
		}
		events := h.Admin().Get("/v2/workspaces/platform/events?types=gateway.signup.succeeded,gateway.login.succeeded&sort=asc").Want(http.StatusOK)
		if events.Text("result.events.0.type") != "gateway.signup.succeeded" || events.Text("result.events.1.payload.provider") != "acme" {
			t.Errorf("events: %s", events.Body)
		}
	})
}

// What a provider says is kept up to date; the account is its owner's.
func TestLaterSignInsRefreshClaims(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "trustEmail: true"))
	id := h.wantSignedIn("provider=acme")
	p.says(map[string]any{"sub": "alice", "email": "admin@example.test", "email_verified": true, "given_name": "Mallory", "groups": []string{"new"}})
	b := newBrowser(t)
	b.signIn(h, "provider=acme").want(http.StatusFound)
	me := b.me(h).Want(http.StatusOK)
	if me.Text("id") != id || me.Text("firstName") != "Alice" || me.Text("email") != "alice@example.com" ||
		me.Text("authData.acme.email") != "admin@example.test" || me.Text("authData.acme.groups.0") != "new" {
		t.Errorf("%s", me.Body)
	}
}

// An address is believed when the provider verified it and the operator trusts the provider in that.
func TestAddressesAreBelievedWithReason(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p := newIDP(t, clk)
	h := start(t, provided(p).with("trusted", p, "trustEmail: true").with("listed", p, "domains: [example.com]"))
	for name, c := range map[string]struct {
		slug, email string
		verified    any
		want        string
	}{
		"not trusted":          {"acme", "a@example.com", true, ""},
		"trusted":              {"trusted", "b@elsewhere.example", true, "b@elsewhere.example"},
		"trusted, as a text":   {"trusted", "c@elsewhere.example", "true", "c@elsewhere.example"},
		"not verified":         {"trusted", "d@elsewhere.example", false, ""},
		"not said":             {"trusted", "e@elsewhere.example", nil, ""},
		"a number":             {"trusted", "f@elsewhere.example", 1, ""},
		"listed":               {"listed", "G@Example.com", true, "g@example.com"},
		"with a name":          {"trusted", "Eve <j@elsewhere.example>", true, ""},
		"two addresses":        {"trusted", "k@elsewhere.example,l@elsewhere.example", true, ""},
		"listed, unverified":   {"listed", "m@example.com", false, ""},
		"unverified, of admin": {"trusted", apptest.AdminEmail, false, ""},
	} {
		p.says(somebody(name, c.email, c.verified))
		b := newBrowser(t)
		b.signIn(h, "provider="+c.slug).want(http.StatusFound)
		me := b.me(h)
		if me == nil {
			t.Errorf("%s: nobody is signed in", name)
			continue
		}
		if me.Text("email") != c.want || me.Text("authData."+c.slug+".email") != c.email || me.Text("platformRole") != "" {
			t.Errorf("%s: %s", name, me.Body)
		}
	}
}

// Where a provider has domains, it makes accounts for no people of others; who has one goes on to sign in.
func TestPeopleOfOtherDomains(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "domains: [example.com]", "allowTokenExchange: true").with("trusted", p, "domains: [other.example]", "trustEmail: true"))
	for _, address := range []string{"h@sub.example.com", "i@notexample.com", "j@elsewhere.example"} {
		p.says(somebody(address, address, true))
		h.wantRefused("provider=acme", "signup_closed")
		h.wantRefused("provider=trusted", "signup_closed")
		h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)}).
			WantError(http.StatusForbidden, "permission_denied")
	}
	p.says(somebody("alice", "alice@example.com", true))
	id := h.wantSignedIn("provider=acme")
	p.says(somebody("alice", "alice@elsewhere.example", true))
	if h.wantSignedIn("provider=acme") != id {
		t.Error("another account")
	}
}

// That an address is verified is said of the claim email alone.
func TestVerifiedIsOfOneClaim(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "trustEmail: true", "attributes: {email: upn}"))
	claims := somebody("mallory", "mallory@example.com", true)
	claims["upn"] = "victim@example.com"
	p.says(claims)
	b := newBrowser(t)
	b.signIn(h, "provider=acme").want(http.StatusFound)
	if me := b.me(h).Want(http.StatusOK); me.Text("email") != "" {
		t.Errorf("an address nobody verified is believed: %s", me.Body)
	}
}

// A sign-in that began on our own page ends there, also where the console is elsewhere.
func TestDestinationOfOurPage(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	s := provided(p)
	s.settings = []string{"CONSOLE_URL=https://console.example"}
	h := start(t, s)
	for query, want := range map[string]string{
		"&return_to=/device%3Fuser_code%3DA&here=1":  h.URL + "/device?user_code=A",
		"&return_to=/device":                         "https://console.example/device",
		"&return_to=//evil.example&here=1":           h.URL + "/",
		"&return_to=https://evil.example/&here=evil": h.URL + "/",
	} {
		if got := newBrowser(t).signIn(h, "provider=acme"+query).want(http.StatusFound).location; got != want {
			t.Errorf("%q leads to %s, want %s", query, got, want)
		}
	}
	p.says(somebody("mallory", apptest.AdminEmail, true))
	b := newBrowser(t)
	if got := b.signIn(h, "provider=acme&return_to=/device&here=1").wantReason("email_taken"); !strings.HasPrefix(got.location, h.URL+"/signin?") {
		t.Errorf("refused at %s", got.location)
	}
}

// The address of an existing account does not open it, whoever vouches for it.
func TestAddressNeverLinks(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p).with("trusted", p, "trustEmail: true"))
	p.says(somebody("mallory", strings.ToUpper(apptest.AdminEmail), true))
	for _, slug := range []string{"acme", "trusted"} {
		h.wantRefused("provider="+slug, "email_taken")
	}
	if got := h.failures(); !slices.Equal(got, []string{"acme email_taken 127.0.0.1", "trusted email_taken 127.0.0.1"}) {
		t.Errorf("%q", got)
	}
	if strings.Contains(h.Logs.String(), "the-client-secret") {
		t.Error("the client secret is in the log")
	}
}

// The same subject at two providers is two people, also when a slug is given to another issuer.
func TestSubjectsAreOfOneProvider(t *testing.T) {
	t.Parallel()
	clk := newClock()
	one, two := newIDP(t, clk), newIDP(t, clk)
	dir := t.TempDir()
	h := startOn(t, provided(one).with("other", two), "DATA_DIR="+dir)
	first := h.wantSignedIn("provider=acme")
	if h.wantSignedIn("provider=other") == first {
		t.Fatal("the subject of another provider opens the account")
	}
	h.Stop()
	moved := startOn(t, provided(two), "DATA_DIR="+dir)
	if moved.wantSignedIn("provider=acme") == first {
		t.Fatal("the subject of another issuer opens the account")
	}
	moved.Stop()
	back := startOn(t, provided(one), "DATA_DIR="+dir)
	if back.wantSignedIn("provider=acme") != first {
		t.Fatal("the account is lost")
	}
}

func TestStrangersAreRefusedWithoutSignup(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "signup: false"))
	h.wantRefused("provider=acme&interaction=abc_DEF-1", "signup_closed")
}

func TestDeactivatedAccountIsRefused(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	id := h.wantSignedIn("provider=acme")
	h.Admin().Patch("/v2/users/"+id, map[string]any{"status": "deactivated"}).Want(http.StatusOK)
	h.wantRefused("provider=acme", "account_disabled")
	h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)}).
		WantError(http.StatusUnauthorized, "invalid_credentials")
}

// Many first sign-ins of one person at once make one account.
func TestFirstSignInsAtOnce(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	eachEngine(t, func() setup { return provided(p, "trustEmail: true", "allowTokenExchange: true") }, func(t *testing.T, h *house) {
		const many = 20
		ids := make(chan string, many)
		for range many {
			token := p.issue(nil)
			go func() {
				answer, err := h.Anyone().Try(t.Context(), http.MethodPost, "/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": token})
				if err != nil {
					t.Error(err)
					ids <- ""
					return
				}
				if answer.Status != http.StatusOK {
					t.Errorf("%d %s", answer.Status, answer.Body)
				}
				ids <- answer.Text("id")
			}()
		}
		seen := map[string]bool{}
		for range many {
			seen[<-ids] = true
		}
		if len(seen) != 1 {
			t.Errorf("accounts: %v", seen)
		}
	})
}

// Where people go afterwards is ours to choose.
func TestDestination(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	for query, want := range map[string]string{
		"":                                     "/account",
		"&return_to=/reports%3Fa%3Db%2520c":    "/reports?a=b%20c",
		"&interaction=AbC_-9":                  "/oidc/auth/AbC_-9",
		"&interaction=AbC_-9&return_to=/other": "/oidc/auth/AbC_-9",
	} {
		if got := newBrowser(t).signIn(h, "provider=acme"+query).want(http.StatusFound).location; got != h.URL+want {
			t.Errorf("%q leads to %s, want %s", query, got, want)
		}
	}
	for _, evil := range []string{
		"//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "javascript:alert(1)", "evil.example", "@evil.example",
		".evil.example", ":80/", "/%2F/evil.example", "/%2fevil.example", "/%252fevil.example", "/%25252fevil.example", "/%5cevil.example",
		"/%255Cevil.example", "/a%0d%0aSet-Cookie:a=b", "/a%250d%250aSet-Cookie:a=b", "/a\r\nb", "/\tevil.example", "/%09/evil.example",
		"/a\u2028b", "/%zz", "/\u202eevil", "/" + strings.Repeat("a", 3000), "/" + strings.Repeat("%25", 50) + "2f", "%2f%2fevil.example", " /a",
	} {
		got := newBrowser(t).signIn(h, "provider=acme&return_to="+url.QueryEscape(evil)).want(http.StatusFound).location
		if got != h.URL+"/" {
			t.Errorf("%q leads to %s", evil, got)
		}
	}
	for _, evil := range []string{"../x", "a/b", "a b", strings.Repeat("a", 101), "%0a"} {
		newBrowser(t).get(h.URL + "/v2/login?provider=acme&interaction=" + url.QueryEscape(evil)).want(http.StatusBadRequest)
	}
}

func TestChoosingAProvider(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	s := provided(p, "name: Acme", "icon: /acme.svg", "meta: {color: red}", "domains: [example.com]")
	s.settings = []string{"DISABLE_LOCAL_SIGNUP=yes"}
	h := start(t, s)
	b := newBrowser(t)
	for _, domain := range []string{"example.com", "EXAMPLE.com"} {
		if got := b.get(h.URL + "/v2/login?domain=" + domain).want(http.StatusFound); !strings.HasPrefix(got.location, p.url+"/auth?") {
			t.Errorf("%s leads to %s", domain, got.location)
		}
	}
	if got := b.get(h.URL + "/v2/login?domain=other.example").want(http.StatusOK); strings.TrimSpace(got.body) != `{"provider":"local"}` {
		t.Errorf("%s", got.body)
	}
	h.Anyone().Get("/v2/login?provider=absent").WantError(http.StatusNotFound, "resource_not_found")
	h.Anyone().Get("/v2/login").WantError(http.StatusBadRequest, "missing_parameter")
	h.Anyone().Get("/v2/login?provider=acme&domain=example.com").WantError(http.StatusBadRequest, "missing_parameter")
	h.Anyone().Get("/v2/login?provider=acme&provider=acme").WantError(http.StatusBadRequest, "invalid_parameter")
	ways := h.Anyone().Get("/v2/login/providers").Want(http.StatusOK)
	const want = `{"localSignin":true,"localSignup":false,"providers":[{"slug":"acme","type":"oidc","name":"Acme","icon":"/acme.svg","meta":{"color":"red"}}]}`
	if got := strings.TrimSpace(string(ways.Body)); got != want {
		t.Errorf("%s", got)
	}
	plain := apptest.New(t)
	if got := strings.TrimSpace(string(plain.Anyone().Get("/v2/login/providers").Want(http.StatusOK).Body)); got != `{"localSignin":true,"localSignup":true,"providers":[]}` {
		t.Errorf("%s", got)
	}
}

// The request to the provider is the code flow with everything that protects it, and its cookie is for this browser alone.
func TestDeparture(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	away := newBrowser(t).get(h.URL + "/v2/login?provider=acme").want(http.StatusFound)
	u, err := url.Parse(away.location)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "ours", "redirect_uri": h.URL + "/v2/login/callback", "scope": "openid email profile",
		"code_challenge_method": "S256",
	} {
		if query.Get(name) != want {
			t.Errorf("%s is %q", name, query.Get(name))
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(query.Get(name)) != 43 {
			t.Errorf("%s is %q", name, query.Get(name))
		}
	}
	if len(query) != 8 || query.Get("state") == query.Get("nonce") {
		t.Errorf("%v", query)
	}
	cookie := away.header.Get("Set-Cookie")
	for _, attribute := range []string{"_signin=", "HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/"} {
		if !strings.Contains(cookie, attribute) {
			t.Errorf("%s lacks %s", cookie, attribute)
		}
	}
	if strings.Contains(cookie, query.Get("state")) {
		t.Error("the state is in the cookie")
	}
}

// Claims are bounded, and what matters most stays.
func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	claims := somebody("many", "many@example.com", true)
	for i := range 200 {
		claims["aaa"+strings.Repeat("x", i)] = strings.Repeat("y", 100)
	}
	claims["name"] = "Zoë\u0000\u202e Zebra"
	claims["mixed"] = []any{"a", 1}
	p.says(claims)
	answer := h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)}).Want(http.StatusOK)
	text, err := json.Marshal(answer.At("authData.acme"))
	if err != nil || len(text) > 8<<10 || answer.Text("authData.acme.email") != "many@example.com" || answer.Text("authData.acme.id") != "many" ||
		answer.At("authData.acme.mixed") != nil {
		t.Errorf("%d bytes: %s %v", len(text), text, err)
	}
}

// A link in a mail that is opened ten minutes later no longer signs anybody in.
func TestFlowsExpire(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	b := newBrowser(t)
	callback := b.depart(h, "provider=acme")
	h.clk.Advance(11 * time.Minute)
	b.get(callback).want(http.StatusBadRequest)
}
