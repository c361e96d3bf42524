package federation_test

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Whatever is wrong with an ID token, nobody is signed in. (B-OID-06)
func TestBadTokens(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p := newIDP(t, clk)
	h := start(t, provided(p, "allowTokenExchange: true"))
	set := func(name string, value any) func(map[string]any) {
		return func(claims map[string]any) { claims[name] = value }
	}
	without := func(name string) func(map[string]any) { return func(claims map[string]any) { delete(claims, name) } }
	now := clk.Now()
	for name, c := range map[string]struct {
		twist func(map[string]any)
		// flowOnly is what only a sign-in in a browser can see.
		flowOnly bool
	}{
		"another audience":          {twist: set("aud", "theirs")},
		"no audience":               {twist: without("aud")},
		"empty audience":            {twist: set("aud", []string{})},
		"audience in other case":    {twist: set("aud", "OURS")},
		"two audiences, no azp":     {twist: set("aud", []string{"ours", "theirs"})},
		"azp of another":            {twist: set("azp", "theirs")},
		"azp is a list":             {twist: set("azp", []string{"ours"})},
		"azp is empty":              {twist: set("azp", "")},
		"another issuer":            {twist: set("iss", "https://evil.example")},
		"issuer with a slash":       {twist: set("iss", p.url+"/")},
		"no issuer":                 {twist: without("iss")},
		"expired":                   {twist: set("exp", now.Add(-time.Second).Unix())},
		"no expiry":                 {twist: without("exp")},
		"expiry of another kind":    {twist: set("exp", "tomorrow")},
		"from the future":           {twist: set("iat", now.Add(time.Hour).Unix())},
		"not valid yet":             {twist: set("nbf", now.Add(time.Hour).Unix())},
		"another nonce":             {twist: set("nonce", "another"), flowOnly: true},
		"no nonce":                  {twist: without("nonce"), flowOnly: true},
		"no subject":                {twist: without("sub")},
		"empty subject":             {twist: set("sub", "")},
		"subject of another kind":   {twist: set("sub", 7)},
		"subject with a NUL":        {twist: set("sub", "a\x00b")},
		"subject with a newline":    {twist: set("sub", "a\nb")},
		"subject too long":          {twist: set("sub", strings.Repeat("a", 256))},
		"another access token hash": {twist: set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), flowOnly: true},
		"distributed claims":        {twist: set("_claim_names", map[string]any{"sub": "absent"})},
	} {
		p.change(func(p *idp) { p.twist = c.twist })
		newBrowser(t).signIn(h, "provider=acme").wantReason("token_invalid")
		if !c.flowOnly {
			got := h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)})
			if got.Status != http.StatusUnauthorized || got.Text("error") != "invalid_token" {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
	}
	p.change(func(p *idp) { p.twist = nil })
	h.wantSignedIn("provider=acme")
}

// Signatures that anybody could make, or that are not the provider's.
func TestBadSignatures(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	h.wantSignedIn("provider=acme")
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := p.published[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	key := func(alg jose.SignatureAlgorithm, key any, kid string) func(map[string]any) string {
		return func(claims map[string]any) string {
			return signed(t, jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, claims)
		}
	}
	for name, sign := range map[string]func(map[string]any) string{
		"none":                          unsigned,
		"none with a dot less":          func(c map[string]any) string { return strings.TrimSuffix(unsigned(c), ".") },
		"HS256 with the client secret":  key(jose.HS256, []byte("the-client-secret-the-client-secret"), "first"),
		"HS256 with the public key":     key(jose.HS256, public, "first"),
		"another key":                   key(jose.RS256, other, "first"),
		"another key without a name":    key(jose.RS256, other, ""),
		"another key, another name":     key(jose.RS256, other, "other"),
		"an algorithm not on the list":  key(jose.RS512, p.key.Key.(jose.JSONWebKey).Key, "first"),
		"an algorithm not of the key":   key(jose.PS256, p.key.Key.(jose.JSONWebKey).Key, "first"),
		"nothing":                       func(map[string]any) string { return "" },
		"words":                         func(map[string]any) string { return "not a token" },
		"too long":                      func(map[string]any) string { return strings.Repeat("a.", 50_000) },
		"a JSON serialisation":          func(c map[string]any) string { return `{"payload":"e30","signatures":[]}` },
		"an embedded key":               embedded(t, other),
		"good, with another's payload":  spliced(p),
		"good, with a changed last bit": func(c map[string]any) string { s := signed(t, p.key, c); return s[:len(s)-8] + "AAAAAAAA" },
	} {
		p.change(func(p *idp) { p.sign = sign })
		newBrowser(t).signIn(h, "provider=acme").wantReason("token_invalid")
		token := p.issue(nil)
		if token == "" {
			continue
		}
		got := h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": token})
		if got.Status != http.StatusUnauthorized && got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		h.clk.Advance(2 * time.Second) // the keys may be asked for again
	}
}

func embedded(t *testing.T, key *rsa.PrivateKey) func(map[string]any) string {
	return func(claims map[string]any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
		if err != nil {
			t.Error(err)
			return ""
		}
		object, err := signer.Sign([]byte(`{"iss":"` + claims["iss"].(string) + `","sub":"alice","aud":"ours","exp":4102444800}`))
		if err != nil {
			t.Error(err)
			return ""
		}
		text, _ := object.CompactSerialize()
		return text
	}
}

func spliced(p *idp) func(map[string]any) string {
	return func(claims map[string]any) string {
		good := strings.Split(signed(p.t, p.key, claims), ".")
		return good[0] + "." + strings.Split(unsigned(claims), ".")[1][:20] + "." + good[2]
	}
}

// Every algorithm that is accepted is.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	signer := p.key.Key.(jose.JSONWebKey).Key.(*rsa.PrivateKey)
	ids := map[string]bool{h.wantSignedIn("provider=acme"): true}
	p.use(jose.PS256, signer, "ps")
	h.clk.Advance(2 * time.Second)
	ids[h.wantSignedIn("provider=acme")] = true
	p.use(jose.ES256, ecKey(t, elliptic.P256()), "es")
	h.clk.Advance(2 * time.Second)
	ids[h.wantSignedIn("provider=acme")] = true
	p.use(jose.EdDSA, edKey(t), "ed")
	h.clk.Advance(2 * time.Second)
	ids[h.wantSignedIn("provider=acme")] = true
	if len(ids) != 1 {
		t.Errorf("accounts: %v", ids)
	}
	p.use(jose.ES384, ecKey(t, elliptic.P384()), "es384")
	h.clk.Advance(2 * time.Second)
	h.wantRefused("provider=acme", "token_invalid")
}

// A callback counts once, in the browser that left, from the provider that was asked. (B-OID-04)
func TestCallbacksAreBound(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p, other := newIDP(t, clk), newIDP(t, clk)
	h := start(t, provided(p).with("other", other))
	refused := func(name string, got page) {
		t.Helper()
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"error":"invalid_`) || len(got.header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: %d %s %s", name, got.status, got.location, got.body)
		}
	}
	b := newBrowser(t)
	callback := b.depart(h, "provider=acme")
	refused("another browser", newBrowser(t).get(callback))
	refused("a state that is made up", b.get(h.URL+"/v2/login/callback?code=a&state="+strings.Repeat("a", 43)))
	refused("no state", b.get(h.URL+"/v2/login/callback?code=a"))
	refused("no parameters", b.get(h.URL+"/v2/login/callback"))
	refused("a state of 7 KB", b.get(h.URL+"/v2/login/callback?code=a&state="+strings.Repeat("a", 7_000)))
	b.get(h.URL + "/v2/login/callback?code=a&state=" + strings.Repeat("a", 10_000)).want(http.StatusRequestURITooLong)
	refused("two states", b.get(callback+"&state=b"))
	refused("two codes", b.get(callback+"&code=b"))
	b.get(callback).want(http.StatusFound)
	if b.me(h) == nil {
		t.Fatal("the right browser is not signed in")
	}
	refused("a second time", b.get(callback))

	parse := func(address string) url.Values {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query()
	}
	for name, iss := range map[string]string{"the issuer of another": other.url, "no issuer": "", "an issuer with a slash": p.url + "/"} {
		query := parse(b.depart(h, "provider=acme"))
		query.Set("iss", iss)
		if iss == "" {
			query.Del("iss")
		}
		refused(name, b.get(h.URL+"/v2/login/callback?"+query.Encode()))
	}
	if other.calls("token") != 0 || p.calls("token") != 1 {
		t.Errorf("codes were sent: %d %d", p.calls("token"), other.calls("token"))
	}
}

// Two parallel callbacks of one state sign in once.
func TestCallbacksAtOnce(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	eachEngine(t, func() setup { return provided(p) }, func(t *testing.T, h *house) {
		b := newBrowser(t)
		callback := b.depart(h, "provider=acme")
		var wait sync.WaitGroup
		results := make(chan int, 20)
		for range cap(results) {
			wait.Go(func() { results <- b.get(callback).status })
		}
		wait.Wait()
		close(results)
		good := 0
		for status := range results {
			if status == http.StatusFound {
				good++
			} else if status != http.StatusBadRequest {
				t.Errorf("status %d", status)
			}
		}
		if good != 1 {
			t.Errorf("%d sign-ins", good)
		}
	})
}

// A code is good for one sign-in: another one's does not fit the proof of who asked for it.
func TestCodesOfOthers(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	theirs, err := url.Parse(newBrowser(t).depart(h, "provider=acme"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	ours, err := url.Parse(b.depart(h, "provider=acme"))
	if err != nil {
		t.Fatal(err)
	}
	query := ours.Query()
	query.Set("code", theirs.Query().Get("code"))
	b.get(h.URL + "/v2/login/callback?" + query.Encode()).wantReason("provider_refused")
}

// What the provider refuses is told in our own words.
func TestProviderErrors(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	for sent, reason := range map[string]string{
		"access_denied": "provider_denied", "server_error": "provider_refused", "<script>": "provider_refused",
	} {
		p.change(func(p *idp) {
			p.back = func(v url.Values) {
				v.Del("code")
				v.Set("error", sent)
				v.Set("error_description", "<script>alert(1)</script>")
			}
		})
		got := newBrowser(t).signIn(h, "provider=acme&interaction=uid&return_to=/a").wantReason(reason)
		if strings.Contains(got.location, "script") || !strings.Contains(got.location, "interaction=uid") || !strings.Contains(got.location, "return_to=%2Fa") {
			t.Errorf("%s", got.location)
		}
	}
	p.change(func(p *idp) { p.back = nil })
	for name, c := range map[string]struct {
		token  http.HandlerFunc
		reason string
	}{
		"refused":                  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "provider_refused"},
		"not JSON":                 {answer("text/html", "<html>"), "provider_unavailable"},
		"no ID token":              {answer("application/json", `{"access_token":"a","token_type":"Bearer"}`), "token_invalid"},
		"ID token of another kind": {answer("application/json", `{"access_token":"a","token_type":"Bearer","id_token":7}`), "token_invalid"},
		"too large":                {answer("application/json", `{"access_token":"`+strings.Repeat("a", 2<<20)+`"}`), "provider_unavailable"},
		"redirected": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", p.url+"/token")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "provider_unavailable"},
	} {
		p.change(func(p *idp) { p.token, p.asked["token"] = c.token, 0 })
		newBrowser(t).signIn(h, "provider=acme").wantReason(c.reason)
		if p.calls("token") != 1 {
			t.Errorf("%s: the code was sent %d times", name, p.calls("token"))
		}
	}
}

func answer(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

// The client proves itself the way it is configured to.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p).with("post", p, "token_endpoint_auth_method: client_secret_post").with("public", p, "token_endpoint_auth_method: none"))
	h.wantSignedIn("provider=acme")
	if header, form := p.redeemed(); !strings.HasPrefix(header.Get("Authorization"), "Basic ") || form.Has("client_secret") {
		t.Errorf("%v %v", header, form)
	}
	h.wantSignedIn("provider=post")
	if header, form := p.redeemed(); header.Get("Authorization") != "" || form.Get("client_secret") != "the-client-secret" {
		t.Errorf("%v %v", header, form)
	}
	h.wantSignedIn("provider=public")
	if header, form := p.redeemed(); header.Get("Authorization") != "" || form.Has("client_secret") || form.Get("client_id") != "ours" {
		t.Errorf("%v %v", header, form)
	}
}

// A provider may have the browser post a form instead of following a link.
func TestFormPost(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "response_mode: form_post"))
	b := newBrowser(t)
	away := b.get(h.URL + "/v2/login?provider=acme").want(http.StatusFound)
	back := b.get(away.location).want(http.StatusFound)
	crossSite := newBrowser(t) // a browser does not send our cookies with another site's form
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {p.url}, "Sec-Fetch-Site": {"cross-site"}}
	form := crossSite.do(http.MethodPost, back.location, back.header.Get("X-Form"), header).want(http.StatusSeeOther)
	if !strings.HasPrefix(form.location, h.URL+"/v2/login/callback?") {
		t.Fatalf("sent to %s", form.location)
	}
	if got := b.get(form.location).want(http.StatusFound).location; got != h.URL+"/account" || b.me(h) == nil {
		t.Errorf("sent to %s", got)
	}
	crossSite.do(http.MethodPost, back.location, "state=a&state=b", header).want(http.StatusBadRequest)
	crossSite.do(http.MethodPost, back.location, "state="+strings.Repeat("a", 70_000), header).want(http.StatusBadRequest)
}
