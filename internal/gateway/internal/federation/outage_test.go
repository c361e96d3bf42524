package federation_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A provider that is down stops neither the process nor other sign-ins, and is asked again when it may be up.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	clk := newClock()
	p, other := newIDP(t, clk), newIDP(t, clk)
	p.document = func(d map[string]any) { d["status"] = http.StatusBadGateway }
	h := start(t, provided(p, "allowTokenExchange: true").with("other", other))
	down := h.Anyone().Get("/v2/login?provider=acme").WantError(http.StatusServiceUnavailable, "service_unavailable")
	if down.Header.Get("Retry-After") == "" || strings.Contains(string(down.Body), p.url) {
		t.Errorf("%v %s", down.Header, down.Body)
	}
	h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)}).
		WantError(http.StatusServiceUnavailable, "service_unavailable")
	if p.calls("document") != 1 {
		t.Errorf("asked %d times at once", p.calls("document"))
	}
	h.wantSignedIn("provider=other")
	h.Admin()
	h.Anyone().Get("/v2/login/providers").Want(http.StatusOK)
	p.change(func(p *idp) { p.document = nil })
	h.clk.Advance(10 * time.Second)
	h.wantSignedIn("provider=acme")

	p.change(func(p *idp) { p.document = func(d map[string]any) { d["status"] = http.StatusBadGateway } })
	h.clk.Advance(2 * time.Hour) // what is known is old, and still the best there is
	h.wantSignedIn("provider=acme")
	h.clk.Advance(48 * time.Hour)
	h.Anyone().Get("/v2/login?provider=acme").WantError(http.StatusServiceUnavailable, "service_unavailable")
}

// Documents that would lead people, or us, elsewhere.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	for name, twist := range map[string]func(map[string]any){
		"another issuer":    func(d map[string]any) { d["issuer"] = "https://evil.example" },
		"plain http":        func(d map[string]any) { d["token_endpoint"] = "http://evil.example/token" },
		"no keys":           func(d map[string]any) { delete(d, "jwks_uri") },
		"no token endpoint": func(d map[string]any) { d["token_endpoint"] = "" },
		"a script":          func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" },
		"huge":              func(d map[string]any) { d["more"] = strings.Repeat("a", 2<<20) },
		"a list of issuers": func(d map[string]any) { d["issuer"] = []string{"a"} },
	} {
		p.change(func(p *idp) { p.document = twist })
		got := h.Anyone().Get("/v2/login?provider=acme")
		if got.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		h.clk.Advance(10 * time.Second)
	}
	p.change(func(p *idp) { p.document = nil })
	h.wantSignedIn("provider=acme")
}

// Keys that cannot be read or used verify nothing; what was known goes on to count for a while. (B-OID-06)
func TestKeys(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Key.(jose.JSONWebKey).Key, KeyID: "first"}}})
	if err != nil {
		t.Fatal(err)
	}
	many := `{"keys":[` + strings.TrimSuffix(strings.Repeat(`{"kty":"x"},`, 200), ",") + `]}`
	for name, keys := range map[string]http.HandlerFunc{
		"404":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"500":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"huge":         answer("application/json", `{"keys":[],"more":"`+strings.Repeat("a", 2<<20)+`"}`),
		"not JSON":     answer("application/json", "<html>"),
		"empty":        answer("application/json", `{"keys":[]}`),
		"many":         answer("application/json", many),
		"private keys": answer("application/json", string(private)),
		"shared keys":  answer("application/json", `{"keys":[{"kty":"oct","k":"AAAA","kid":"first"}]}`),
	} {
		p.change(func(p *idp) { p.keys = keys })
		newBrowser(t).signIn(h, "provider=acme").wantReason("provider_unavailable")
		h.clk.Advance(2 * time.Second)
		got := h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": p.issue(nil)})
		if got.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		h.clk.Advance(2 * time.Second)
	}
	p.change(func(p *idp) { p.keys = nil })
	h.wantSignedIn("provider=acme")

	p.change(func(p *idp) {
		p.keys = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	})
	h.clk.Advance(30 * time.Minute)
	h.wantSignedIn("provider=acme")
	h.clk.Advance(time.Hour)
	h.wantRefused("provider=acme", "provider_unavailable")
}

// New keys are learnt at once, withdrawn ones forgotten, and tokens with unknown keys are no load on the provider.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "allowTokenExchange: true"))
	id := h.wantSignedIn("provider=acme")
	old := p.key
	for range 3 {
		h.clk.Advance(2 * time.Second)
		p.rotate("next" + h.clk.Now().String())
		if h.wantSignedIn("provider=acme") != id {
			t.Fatal("another account")
		}
	}
	withdrawn := func() string {
		return signed(t, old, map[string]any{"iss": p.url, "aud": "ours", "sub": "alice", "exp": h.clk.Now().Add(time.Minute).Unix()})
	}
	before := p.calls("keys")
	for range 20 {
		h.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": withdrawn()}).
			WantError(http.StatusUnauthorized, "invalid_token")
	}
	if asked := p.calls("keys") - before; asked > 1 {
		t.Errorf("asked for keys %d times", asked)
	}

	// A key that is withdrawn without a new one in its place is forgotten too.
	second := newIDP(t, h.clk)
	second.change(func(s *idp) { s.published = append(s.published, p.published...) })
	other := start(t, provided(second, "allowTokenExchange: true"))
	borrowed := func() string {
		return signed(t, p.key, map[string]any{"iss": second.url, "aud": "ours", "sub": "alice", "exp": h.clk.Now().Add(time.Minute).Unix()})
	}
	exchange := func() int {
		return other.Anyone().Post("/v2/login/token-exchange", map[string]any{"provider": "acme", "subject_token": borrowed()}).Status
	}
	if status := exchange(); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	second.change(func(s *idp) { s.published = s.published[:1] })
	h.clk.Advance(11 * time.Minute)
	if status := exchange(); status != http.StatusUnauthorized {
		t.Errorf("a withdrawn key counts: %d", status)
	}
}

// A provider that does not answer holds a sign-in for seconds, not for ever.
func TestKeysSlow(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p))
	p.change(func(p *idp) { p.keys = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() } })
	h.wantRefused("provider=acme", "provider_unavailable")
}

// Without EGRESS_ALLOWED_NETWORKS a provider cannot lead into a private network.
func TestPrivateNetworksAreGuarded(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	s := provided(p)
	s.settings = []string{"EGRESS_ALLOWED_NETWORKS=192.0.2.0/24"} // the first of two equal names counts
	h := start(t, s)
	h.Anyone().Get("/v2/login?provider=acme").WantError(http.StatusServiceUnavailable, "service_unavailable")
	if p.calls("document") != 0 {
		t.Error("the provider was asked")
	}
}

// With explicit endpoints nothing is discovered.
func TestExplicitEndpoints(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newClock())
	h := start(t, provided(p, "authorization_endpoint: "+p.url+"/auth", "token_endpoint: "+p.url+"/token", "jwks_uri: "+p.url+"/jwks"))
	h.wantSignedIn("provider=acme")
	if p.calls("document") != 0 {
		t.Error("the document was asked for")
	}
}
