package federation_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/clock"
)

// idp is an OpenID provider whose every step can be made wrong.
type idp struct {
	t   *testing.T
	url string
	clk *clock.Manual

	mu    sync.Mutex
	codes map[string]url.Values
	// key signs; published are the keys it shows.
	key       jose.SigningKey
	published []jose.JSONWebKey
	// claims are of the person who signs in next.
	claims map[string]any
	// twist changes the claims of the next token, sign replaces its signature, back changes the callback.
	twist func(map[string]any)
	sign  func(map[string]any) string
	back  func(url.Values)
	// document, keys and token replace an endpoint.
	document func(map[string]any)
	keys     http.HandlerFunc
	token    http.HandlerFunc
	// asked counts the calls of each endpoint; posted is what the last call of the token endpoint sent.
	asked  map[string]int
	posted url.Values
	header http.Header
}

func newIDP(t *testing.T, clk *clock.Manual) *idp {
	t.Helper()
	p := &idp{t: t, clk: clk, codes: map[string]url.Values{}, asked: map[string]int{}, claims: map[string]any{
		"sub": "alice", "email": "alice@example.com", "email_verified": true, "given_name": "Alice", "family_name": "Archer",
	}}
	p.rotate("first")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.serveDocument)
	mux.HandleFunc("/auth", p.serveAuth)
	mux.HandleFunc("/token", p.serveToken)
	mux.HandleFunc("/jwks", p.serveKeys)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// lines are the provider's in the file.
func (p *idp) lines(more ...string) string {
	lines := append([]string{"type: oidc", "issuer: " + p.url, "client_id: ours", "client_secret: the-client-secret"}, more...)
	return "    " + strings.Join(lines, "\n    ") + "\n"
}

// change makes the provider behave otherwise.
func (p *idp) change(f func(*idp)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// says sets what the provider says of the person who signs in next.
func (p *idp) says(claims map[string]any) {
	p.change(func(p *idp) { p.claims = claims })
}

func (p *idp) calls(endpoint string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[endpoint]
}

// redeemed is the last call of the token endpoint.
func (p *idp) redeemed() (http.Header, url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.header, p.posted
}

// rotate replaces the keys by a new one.
func (p *idp) rotate(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.use(jose.RS256, key, kid)
}

// use signs with a key from now on, and shows only that one.
func (p *idp) use(alg jose.SignatureAlgorithm, key crypto.Signer, kid string) {
	p.change(func(p *idp) {
		p.key = jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}
		p.published = []jose.JSONWebKey{{Key: key.Public(), KeyID: kid, Algorithm: string(alg), Use: "sig"}}
	})
}

func (p *idp) serveDocument(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked["document"]++
	document := map[string]any{
		"issuer": p.url, "authorization_endpoint": p.url + "/auth", "token_endpoint": p.url + "/token", "jwks_uri": p.url + "/jwks",
		"authorization_response_iss_parameter_supported": true,
		"id_token_signing_alg_values_supported":          []string{"RS256", "HS256", "none"},
	}
	if p.document != nil {
		p.document(document)
	}
	w.Header().Set("Content-Type", "application/json")
	if status, ok := document["status"].(int); ok {
		w.WriteHeader(status)
	}
	_ = json.NewEncoder(w).Encode(document)
}

// serveAuth lets everybody in without asking.
func (p *idp) serveAuth(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	code := rand.Text()
	p.codes[code] = query
	back := url.Values{"code": {code}, "state": {query.Get("state")}, "iss": {p.url}}
	if p.back != nil {
		p.back(back)
	}
	target := query.Get("redirect_uri")
	if query.Get("response_mode") == "form_post" {
		w.Header().Set("X-Form", back.Encode())
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusFound)
		return
	}
	w.Header().Set("Location", target+"?"+back.Encode())
	w.WriteHeader(http.StatusFound)
}

func (p *idp) serveToken(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked["token"]++
	_ = r.ParseForm()
	p.posted, p.header = r.PostForm, r.Header.Clone()
	if p.token != nil {
		p.token(w, r)
		return
	}
	asked, known := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if !known || asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") || asked.Get("code_challenge_method") != "S256" ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "id_token": p.make(map[string]any{"nonce": asked.Get("nonce")}),
	})
}

func (p *idp) serveKeys(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked["keys"]++
	instead, published := p.keys, jose.JSONWebKeySet{Keys: p.published}
	p.mu.Unlock()
	if instead != nil {
		instead(w, r) // without the lock: it may take its time
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(published)
}

// issue makes a token of the provider for its next person.
func (p *idp) issue(more map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.make(more)
}

func (p *idp) make(more map[string]any) string {
	now := p.clk.Now()
	claims := map[string]any{"iss": p.url, "aud": "ours", "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(claims, p.claims)
	maps.Copy(claims, more)
	if p.twist != nil {
		p.twist(claims)
	}
	if p.sign != nil {
		return p.sign(claims)
	}
	return signed(p.t, p.key, claims)
}

func signed(t *testing.T, key jose.SigningKey, claims map[string]any) string {
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Error(err)
		return ""
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Error(err)
		return ""
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Error(err)
	}
	return text
}

// unsigned is a token with the algorithm none.
func unsigned(claims map[string]any) string {
	payload, _ := json.Marshal(claims)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(payload) + "."
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func somebody(subject, email string, verified any) map[string]any {
	return map[string]any{"sub": subject, "email": email, "email_verified": verified, "given_name": "Some", "family_name": fmt.Sprint("Body ", subject)}
}
