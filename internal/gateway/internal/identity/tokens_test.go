package identity_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv/memkv"
	"atelier/internal/sqldb/sqldbtest"
)

// mint is an installation whose key is in the hands of a forger, who can sign what we never would.
type mint struct {
	identity *identity.Identity
	keys     *keyring.Ring
	clock    *clock.Manual
	config   config.Config
	session  identity.SignedIn
}

func newMint(t testing.TB, alg string) *mint {
	t.Helper()
	loaded, err := config.Load(config.Sources{Environ: []string{"API_URL=https://atelier.example/v2", "DISABLE_RATE_LIMIT=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	m := &mint{clock: clock.NewManual(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)), config: loaded.Config}
	db := sqldbtest.SQLite(t, sqlbus.Migrations(), keyring.Migrations(), identity.Migrations())
	quiet := slog.New(slog.DiscardHandler)
	log, err := sqlbus.Open(db, m.clock, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	m.keys, err = keyring.Open(t.Context(), keyring.Deps{
		DB: db, Bus: log, Clock: m.clock, Log: quiet, Makes: true,
		Settings: keyring.Settings{Alg: alg, Size: 2048, RotateEvery: 24 * time.Hour, KeepFor: 24 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	store := memkv.New(m.clock)
	t.Cleanup(func() { _ = store.Close() })
	limited, err := limits.New(limits.Deps{Limiter: store, Store: store, Clock: m.clock, Log: quiet, Config: loaded.Config})
	if err != nil {
		t.Fatal(err)
	}
	m.identity, err = identity.Open(t.Context(), identity.Deps{
		DB: db, Keys: m.keys, Log: log, Limits: limited, Clock: m.clock, IDs: ident.Source{}, Config: loaded.Config,
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.session, err = m.identity.SignInAnonymously(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return m
}

func encode(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

func asJSON(v any) []byte {
	text, _ := json.Marshal(v) // what a forger writes down can be
	return text
}

func (m *mint) header() map[string]any {
	return map[string]any{"alg": m.keys.Signing().Algorithm, "kid": m.keys.Signing().KeyID, "typ": "jwt"}
}

// claims are those of a token that is good.
func (m *mint) claims() map[string]any {
	now := m.clock.Now()
	return map[string]any{
		"svcSessionId": m.session.SessionID, "jti": "id", "sub": m.session.User.ID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"scope": "events:read", "client_id": "atelier", "iss": m.config.Issuer(), "aud": m.config.PublicURL(),
	}
}

func with(object map[string]any, key string, value any) map[string]any {
	changed := maps.Clone(object)
	changed[key] = value
	return changed
}

func less(object map[string]any, key string) map[string]any {
	changed := maps.Clone(object)
	delete(changed, key)
	return changed
}

// sign makes a token of any header and payload whose signature is good.
func (m *mint) sign(t testing.TB, header, payload []byte) string {
	t.Helper()
	input := encode(header) + "." + encode(payload)
	return input + "." + encode(m.signature(t, input, crypto.SHA256))
}

func (m *mint) signature(t testing.TB, input string, hash crypto.Hash) []byte {
	t.Helper()
	sum := hash.New()
	sum.Write([]byte(input))
	switch key := m.keys.Signing().Key.(type) {
	case *rsa.PrivateKey:
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, hash, sum.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, sum.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	default:
		t.Fatalf("cannot forge with a %T", key)
		return nil
	}
}

func (m *mint) token(t testing.TB, header, claims map[string]any) string {
	t.Helper()
	return m.sign(t, asJSON(header), asJSON(claims))
}

// wantRefused wants invalid_token, also when it is sent again and nothing of it may have been remembered.
func (m *mint) wantRefused(t *testing.T, name, token string) {
	t.Helper()
	for range 2 {
		_, err := m.identity.Authenticate(t.Context(), token)
		if problem, ok := errors.AsType[*errs.Error](err); !ok || problem.Code != errs.InvalidToken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The forger's tools work: what is refused below is refused for its fault.
func TestGoodTokens(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"RS256", "ES256"} {
		m := newMint(t, alg)
		for name, token := range map[string]string{
			"ours": m.session.Token, "forged": m.token(t, m.header(), m.claims()),
			"nbf within the leeway": m.token(t, m.header(), with(m.claims(), "nbf", m.clock.Now().Unix()+50)),
			"iat within the leeway": m.token(t, m.header(), with(m.claims(), "iat", m.clock.Now().Unix()+50)),
			"exp within the leeway": m.token(t, m.header(), with(m.claims(), "exp", m.clock.Now().Unix()-50)),
			"typ in capitals":       m.token(t, with(m.header(), "typ", "JWT"), m.claims()),
		} {
			p, err := m.identity.Authenticate(t.Context(), token)
			if err != nil || p.UserID != m.session.User.ID || p.Kind != access.Anonymous {
				t.Errorf("%s, %s: %v %v", alg, name, p, err)
			}
		}
	}
}

// B-JWT-01: the algorithm is the key's, whatever the token says.
func TestForgedAlgorithms(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"RS256", "ES256"} {
		m := newMint(t, own)
		for _, alg := range []any{"none", "None", "NONE", "nOnE", "", "HS256", "RS512", "RS384", "PS256", "ES256", "ES384", "RS256", "EdDSA", "XX1", "rs256", nil, 1, []string{own}} {
			if alg == own {
				continue
			}
			header, claims := asJSON(with(m.header(), "alg", alg)), asJSON(m.claims())
			input := encode(header) + "." + encode(claims)
			m.wantRefused(t, fmt.Sprintf("%s as %v", own, alg), m.sign(t, header, claims))
			m.wantRefused(t, fmt.Sprintf("%s as %v without a signature", own, alg), input+".")
			m.wantRefused(t, fmt.Sprintf("%s as %v with two parts", own, alg), input)
		}
		m.wantRefused(t, "no alg", m.token(t, less(m.header(), "alg"), m.claims()))
		for name, secret := range m.publicForms(t) {
			input := encode(asJSON(with(m.header(), "alg", "HS256"))) + "." + encode(asJSON(m.claims()))
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(input))
			m.wantRefused(t, own+" HS256 with "+name, input+"."+encode(mac.Sum(nil)))
		}
	}
	m := newMint(t, "RS256")
	input := encode(asJSON(with(m.header(), "alg", "RS512"))) + "." + encode(asJSON(m.claims()))
	m.wantRefused(t, "a real RS512", input+"."+encode(m.signature(t, input, crypto.SHA512)))
}

// publicForms is everything public that somebody might take for a secret.
func (m *mint) publicForms(t *testing.T) map[string][]byte {
	t.Helper()
	key := m.keys.Signing().Public()
	der, err := x509.MarshalPKIXPublicKey(key.Key)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	forms := map[string][]byte{
		"PEM": block, "PEM without its line break": bytes.TrimSpace(block), "PEM after a blank": append([]byte(" "), block...),
		"PEM after a line break": append([]byte("\n"), block...), "DER": der, "JWK": asJSON(key), "nothing": {}, "the id": []byte(key.KeyID),
	}
	if public, ok := key.Key.(*rsa.PublicKey); ok {
		forms["modulus"] = public.N.Bytes()
		forms["modulus as text"] = []byte(encode(public.N.Bytes()))
		forms["PKCS 1"] = x509.MarshalPKCS1PublicKey(public)
	}
	return forms
}

// B-JWT-02: a header that brings a key, or wants to be read differently, is not one of ours.
func TestForgedHeaders(t *testing.T) {
	t.Parallel()
	m := newMint(t, "RS256")
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := m.keys.Signing().Public()
	for name, value := range map[string]any{
		"jwk": own, "jku": m.config.Issuer() + "/oidc/jwks", "x5u": "https://evil.example/key", "x5c": []string{"MIIB"}, "x5t": "abc", "crit": []string{"exp"},
		"b64": false, "zip": "DEF", "cty": "JWT", "enc": "A128GCM", "epk": map[string]any{}, "x": 1, "ALG": "none",
	} {
		m.wantRefused(t, "header "+name, m.token(t, with(m.header(), name, value), m.claims()))
	}
	m.wantRefused(t, "crit of b64", m.token(t, with(with(m.header(), "crit", []string{"b64"}), "b64", false), m.claims()))
	for _, typ := range []any{"JWE", "at+jwt", "JWT+JWT", "id", "", nil, 1} {
		m.wantRefused(t, fmt.Sprintf("typ %v", typ), m.token(t, with(m.header(), "typ", typ), m.claims()))
	}
	m.wantRefused(t, "no typ", m.token(t, less(m.header(), "typ"), m.claims()))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: foreign}, (&jose.SignerOptions{EmbedJWK: true}).WithType("jwt"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(asJSON(m.claims()))
	if err != nil {
		t.Fatal(err)
	}
	embedded, _ := signed.CompactSerialize()
	m.wantRefused(t, "a key of its own", embedded)
	m.wantRefused(t, "twice the same parameter", m.sign(t, fmt.Appendf(nil, `{"alg":"RS256","alg":"RS256","kid":%q,"typ":"jwt"}`, own.KeyID), asJSON(m.claims())))
	m.wantRefused(t, "a header that is a list", m.sign(t, []byte(`[]`), asJSON(m.claims())))
	m.wantRefused(t, "a header that is null", m.sign(t, []byte(`null`), asJSON(m.claims())))
	nested := m.token(t, m.header(), m.claims())
	m.wantRefused(t, "a token in a token", m.sign(t, asJSON(with(m.header(), "cty", "JWT")), []byte(nested)))
}

// B-JWT-03: a key id is only ever compared.
func TestForgedKeyIDs(t *testing.T) {
	t.Parallel()
	m, other := newMint(t, "ES256"), newMint(t, "ES256")
	kid := m.keys.Signing().KeyID
	for _, junk := range []any{
		"../../dev/null", "' OR '1'='1", "' UNION SELECT jwk FROM keyring_keys --", strings.Repeat("k", 6<<10), strings.Repeat("k", 10<<10),
		[]string{kid},
		map[string]any{"kid": kid},
		nil, 0, true, "", " " + kid, kid + " ", strings.ToLower(kid), kid[:42], kid + "A", other.keys.Signing().KeyID, strings.Repeat("A", 43),
	} {
		m.wantRefused(t, fmt.Sprintf("kid %.40v", junk), m.token(t, with(m.header(), "kid", junk), m.claims()))
	}
	m.wantRefused(t, "no kid", m.token(t, less(m.header(), "kid"), m.claims()))
	m.wantRefused(t, "another installation's key", other.token(t, other.header(), m.claims()))
	m.wantRefused(t, "another installation's signature", other.token(t, m.header(), m.claims()))
	removed := m.token(t, m.header(), m.claims())
	if _, err := m.identity.Authenticate(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	if err := m.keys.Revoke(t.Context(), kid); err != nil {
		t.Fatal(err)
	}
	m.wantRefused(t, "a removed key", removed)
	m.wantRefused(t, "a removed key, signed by the next", m.token(t, with(m.header(), "kid", kid), m.claims()))
}

// B-JWT-04: a good signature does not make up for wrong claims.
func TestForgedClaims(t *testing.T) {
	t.Parallel()
	m := newMint(t, "RS256")
	good, now := m.claims(), m.clock.Now().Unix()
	wrong := map[string][]any{
		"exp":          {"1893456000", nil, -1, 0, true, []int64{now}, int64(253402300799), map[string]any{}},
		"iat":          {"1", nil, -1, 0, now + 61, []int64{now}},
		"nbf":          {now + 61, "1", -1, []int64{now}, int64(253402300799)},
		"aud":          {"", nil, []string{m.config.PublicURL()}, m.config.PublicURL() + "/", m.config.Issuer(), "https://other.example/v2", "HTTPS://ATELIER.EXAMPLE/v2", "client"},
		"iss":          {"", nil, m.config.Issuer() + "/", "https://other.example", []string{m.config.Issuer()}, 1},
		"sub":          {"", nil, 1, []string{m.session.User.ID}, "somebody-else", m.session.User.ID + " "},
		"jti":          {"", nil, 1},
		"svcSessionId": {"", nil, 1, "another-session", []string{m.session.SessionID}},
		"scope":        {1, []string{"events:read"}, map[string]any{}},
		"client_id":    {1, []string{"atelier"}},
		// An ID token has these, and so would a token of another kind.
		"nonce": {"n"}, "at_hash": {"h"}, "c_hash": {"h"}, "auth_time": {now}, "azp": {"client"}, "email": {"a@b.example"}, "SUB": {m.session.User.ID},
		"": {1}, "correlationId": {"c"}, "workspaceId": {"w"}, "superAdmin": {true},
	}
	for claim, values := range wrong {
		for _, value := range values {
			m.wantRefused(t, fmt.Sprintf("%s %v", claim, value), m.token(t, m.header(), with(good, claim, value)))
		}
	}
	for _, claim := range []string{"exp", "iat", "aud", "iss", "sub", "jti", "svcSessionId"} {
		m.wantRefused(t, "no "+claim, m.token(t, m.header(), less(good, claim)))
	}
	text := string(asJSON(good))
	for name, payload := range map[string]string{
		"exp 1e400":        strings.Replace(text, `"exp":`, `"exp":1e400,"x":`, 1),
		"huge exp":         strings.Replace(string(asJSON(less(good, "exp"))), `{`, `{"exp":1e400,`, 1),
		"a claim twice":    strings.Replace(text, `{`, `{"sub":"x",`, 1),
		"escaped twice":    strings.Replace(text, `{`, `{"\u0073ub":"x",`, 1),
		"something after":  text + " {}",
		"not an object":    `"claims"`,
		"null":             `null`,
		"a list":           `[` + text + `]`,
		"broken":           text[:len(text)-1],
		"not UTF-8":        strings.Replace(text, `"jti":"id"`, "\"jti\":\"\xff\"", 1),
		"nothing":          "{}",
		"deep":             strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		"a zero character": strings.Replace(text, `"jti":"id"`, `"jti":"\u0000"`, 1),
	} {
		m.wantRefused(t, name, m.sign(t, asJSON(m.header()), []byte(payload)))
	}
}

// An ID token of the same installation, signed with the same key, opens nothing.
func TestIDTokenIsNoAccessToken(t *testing.T) {
	t.Parallel()
	m := newMint(t, "RS256")
	now := m.clock.Now().Unix()
	claims := map[string]any{
		"iss": m.config.Issuer(), "sub": m.session.User.ID, "aud": "local-client-id", "exp": now + 3600, "iat": now, "nonce": "n", "at_hash": "h",
	}
	m.wantRefused(t, "ID token", m.token(t, m.header(), claims))
	m.wantRefused(t, "ID token for us", m.token(t, m.header(), with(claims, "aud", m.config.PublicURL())))
}

// token_expired is only for whoever can prove to have had a good token.
func TestExpired(t *testing.T) {
	t.Parallel()
	m := newMint(t, "RS256")
	past := m.clock.Now().Unix() - 61
	expired := m.token(t, m.header(), with(with(m.claims(), "exp", past), "iat", past-60))
	for range 2 {
		_, err := m.identity.Authenticate(t.Context(), expired)
		if problem, ok := errors.AsType[*errs.Error](err); !ok || problem.Code != errs.TokenExpired {
			t.Errorf("expired: %v", err)
		}
	}
	parts := strings.Split(expired, ".")
	m.wantRefused(t, "expired, with another signature", parts[0]+"."+parts[1]+"."+strings.Split(m.session.Token, ".")[2])
	m.wantRefused(t, "expired, for another installation", m.token(t, m.header(), with(with(m.claims(), "exp", past), "iss", "https://other.example")))
	m.clock.Advance(31 * 24 * time.Hour)
	m.wantRefused(t, "expired, and its key has gone", expired)
}

// B-JWT-05: there is one way to write a token.
func TestForgedShapes(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"RS256", "ES256"} {
		m := newMint(t, alg)
		good := m.token(t, m.header(), m.claims())
		parts := strings.Split(good, ".")
		for name, token := range map[string]string{
			"nothing": "", "a dot": ".", "two dots": "..", "a million dots": strings.Repeat(".", 1<<20), "8000 dots": strings.Repeat(".", 8000),
			"one part": parts[0], "two parts": parts[0] + "." + parts[1], "four parts": good + ".e30", "a dot after": good + ".", "a dot before": "." + good,
			"five parts": good + ".." + parts[2], "a megabyte": good + strings.Repeat("A", 1<<20), "no payload": parts[0] + ".." + parts[2],
			"blank before": " " + good, "blank after": good + " ", "line break after": good + "\n", "line break inside": good[:20] + "\n" + good[20:],
			"return inside the signature": good[:len(good)-20] + "\r" + good[len(good)-20:], "blank inside": parts[0] + ". " + parts[1] + "." + parts[2],
			"a zero": good + "\x00", "a comma": good + "," + good, "JSON": `{"payload":"` + parts[1] + `","signatures":[]}`,
			"padded header": parts[0] + "=." + parts[1] + "." + parts[2], "padded signature": good + "==", "swapped": parts[1] + "." + parts[0] + "." + parts[2],
			"quoted": `"` + good + `"`, "percent encoded": strings.ReplaceAll(good, ".", "%2E"),
		} {
			m.wantRefused(t, alg+" "+name, token)
		}
		for index := range parts {
			for _, spelling := range otherSpellings(parts[index]) {
				changed := strings.Split(good, ".")
				changed[index] = spelling
				m.wantRefused(t, fmt.Sprintf("%s part %d as %.8s...%s", alg, index, spelling, spelling[len(spelling)-3:]), strings.Join(changed, "."))
			}
		}
		if _, err := m.identity.Authenticate(t.Context(), good); err != nil {
			t.Errorf("the token itself: %v", err)
		}
	}
}

// otherSpellings are texts that lenient decoders read as the same bytes.
func otherSpellings(part string) []string {
	decoded, _ := base64.RawURLEncoding.DecodeString(part)
	var spellings []string
	for _, encoding := range []*base64.Encoding{base64.URLEncoding, base64.StdEncoding, base64.RawStdEncoding} {
		if text := encoding.EncodeToString(decoded); text != part {
			spellings = append(spellings, text)
		}
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, last := range alphabet {
		text := part[:len(part)-1] + string(last)
		if same, err := base64.RawURLEncoding.DecodeString(text); err == nil && text != part && bytes.Equal(same, decoded) {
			spellings = append(spellings, text)
		}
	}
	return spellings
}

// B-JWT-06: signatures that are nearly right.
func TestForgedSignatures(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"RS256", "ES256"} {
		m, other := newMint(t, alg), newMint(t, alg)
		good := m.token(t, m.header(), m.claims())
		parts := strings.Split(good, ".")
		input := parts[0] + "." + parts[1]
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		flipped := bytes.Clone(signature)
		flipped[len(flipped)/2] ^= 1
		for name, forged := range map[string][]byte{
			"truncated": signature[:len(signature)-1], "half": signature[:len(signature)/2], "one byte": signature[:1], "extended": append(bytes.Clone(signature), 0),
			"a zero before": append([]byte{0}, signature...), "zero": make([]byte, len(signature)), "ones": bytes.Repeat([]byte{1}, len(signature)), "flipped": flipped,
			"doubled": append(bytes.Clone(signature), signature...), "of another key": other.signature(t, input, crypto.SHA256),
			"of another token": m.signature(t, parts[0]+"."+encode([]byte("{}")), crypto.SHA256), "the payload": []byte(parts[1]),
			"DER zero": {0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00},
		} {
			m.wantRefused(t, alg+" "+name, input+"."+encode(forged))
		}
		m.wantRefused(t, alg+" none", input+".")
		changed := parts[0] + "." + encode(asJSON(with(m.claims(), "sub", "admin"))) + "." + parts[2]
		m.wantRefused(t, alg+" of other claims", changed)
	}
	m := newMint(t, "ES256")
	order := elliptic.P256().Params().N
	input := encode(asJSON(m.header())) + "." + encode(asJSON(m.claims()))
	for name, pair := range map[string][2]*big.Int{
		"0, 0": {big.NewInt(0), big.NewInt(0)}, "n, n": {order, order}, "1, 0": {big.NewInt(1), big.NewInt(0)}, "0, 1": {big.NewInt(0), big.NewInt(1)},
	} {
		m.wantRefused(t, "ECDSA "+name, input+"."+encode(append(pair[0].FillBytes(make([]byte, 32)), pair[1].FillBytes(make([]byte, 32))...)))
	}
}

// What was remembered of a token does not outlive its key.
func TestRememberedTokenOfARevokedKey(t *testing.T) {
	t.Parallel()
	m := newMint(t, "ES256")
	for range 3 {
		if _, err := m.identity.Authenticate(t.Context(), m.session.Token); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.keys.Revoke(t.Context(), m.keys.Signing().KeyID); err != nil {
		t.Fatal(err)
	}
	m.wantRefused(t, "its key was revoked", m.session.Token)
}

// BenchmarkAuthenticateCached is what every request with a token pays: it must stay below 5 µs.
func BenchmarkAuthenticateCached(b *testing.B) {
	m := newMint(b, "RS256")
	ctx := b.Context()
	if _, err := m.identity.Authenticate(ctx, m.session.Token); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.identity.Authenticate(ctx, m.session.Token); err != nil {
			b.Fatal(err)
		}
	}
}
