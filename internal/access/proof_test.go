package access_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

const internalKey = "the internal key of the installation"

func prover(t testing.TB, key string, clk clock.Clock) *access.Prover {
	t.Helper()
	p, err := access.NewProver(key, clk)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// request is a request that the gateway passes on for a caller.
func proven(t *testing.T, p *access.Prover) *http.Request {
	t.Helper()
	info := &httpx.Info{CorrelationID: "the-id", Shape: httpx.ShapeNested, Version: "2025-01-01", Client: netip.MustParseAddr("203.0.113.9")}
	ctx := access.With(httpx.WithInfo(t.Context(), info), caller())
	out := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://service/v2/workspaces?a=%20b", nil)
	if err := p.Prove(ctx, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func caller() access.Principal {
	return access.Principal{Kind: access.User, UserID: "alice", SessionID: "s", SuperAdmin: true, Scopes: []string{"a", "b"}}
}

func refused(t *testing.T, p *access.Prover, r *http.Request, why string) {
	t.Helper()
	info := &httpx.Info{CorrelationID: "own", Shape: httpx.ShapeFlat}
	ctx, err := p.Trust(r, info)
	if errs.CodeOf(err) != errs.InvalidToken || errs.From(err).Status() != http.StatusUnauthorized || ctx != nil {
		t.Errorf("%s: believed: %v", why, err)
	}
	if info.CorrelationID != "own" || info.Shape != httpx.ShapeFlat {
		t.Errorf("%s: the facts were taken from it", why)
	}
}

func TestProofCarriesTheCaller(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Unix(1_800_000_000, 0))
	gateway, service := prover(t, internalKey, clk), prover(t, internalKey, clk)
	r := proven(t, gateway)
	info := &httpx.Info{}
	ctx, err := service.Trust(r, info)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(access.From(ctx), caller()) {
		t.Errorf("%+v", access.From(ctx))
	}
	if info.CorrelationID != "the-id" || info.Shape != httpx.ShapeNested || info.Version != "2025-01-01" || info.Client.String() != "203.0.113.9" {
		t.Errorf("%+v", info)
	}
	if r.Header.Get(access.HeaderProof) != "" {
		t.Error("the proof is passed on")
	}
}

func TestProofIsBound(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Unix(1_800_000_000, 0))
	p := prover(t, internalKey, clk)
	for why, change := range map[string]func(*http.Request){
		"another method":      func(r *http.Request) { r.Method = http.MethodDelete },
		"another path":        func(r *http.Request) { r.URL.Path = "/v2/workspaces/x" },
		"another query":       func(r *http.Request) { r.URL.RawQuery = "a=b" },
		"no query":            func(r *http.Request) { r.URL.RawQuery = "" },
		"another spelling":    func(r *http.Request) { r.URL.RawPath = "/v2/%77orkspaces" },
		"given twice":         func(r *http.Request) { r.Header.Add(access.HeaderProof, r.Header.Get(access.HeaderProof)) },
		"without signature":   func(r *http.Request) { cut(r, func(body, _ string) string { return body }) },
		"empty signature":     func(r *http.Request) { cut(r, func(body, _ string) string { return body + "." }) },
		"empty body":          func(r *http.Request) { cut(r, func(_, sum string) string { return "." + sum }) },
		"signature of a part": func(r *http.Request) { cut(r, func(body, sum string) string { return body[1:] + "." + sum }) },
		"a line within": func(r *http.Request) {
			cut(r, func(body, sum string) string { return body + "." + sum[:5] + "\n" + sum[5:] })
		},
		"padded":         func(r *http.Request) { cut(r, func(body, sum string) string { return body + "." + sum + "=" }) },
		"nonsense":       func(r *http.Request) { r.Header.Set(access.HeaderProof, "nonsense") },
		"empty":          func(r *http.Request) { r.Header.Set(access.HeaderProof, "") },
		"the key itself": func(r *http.Request) { r.Header.Set(access.HeaderProof, internalKey) },
	} {
		r := proven(t, p)
		change(r)
		refused(t, p, r, why)
	}
	refused(t, prover(t, "another key", clk), proven(t, p), "of another installation")
}

func cut(r *http.Request, join func(body, signature string) string) {
	body, signature, _ := strings.Cut(r.Header.Get(access.HeaderProof), ".")
	r.Header.Set(access.HeaderProof, join(body, signature))
}

func TestProofExpires(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Unix(1_800_000_000, 0))
	p := prover(t, internalKey, clk)
	early, late := proven(t, p), proven(t, p)
	clk.Advance(30 * time.Second)
	if _, err := p.Trust(early, &httpx.Info{}); err != nil {
		t.Errorf("within its life: %v", err)
	}
	clk.Advance(time.Second)
	refused(t, p, late, "after its life")
}

// Not one bit of a proof can be changed.
func TestProofBitFlips(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Unix(1_800_000_000, 0))
	p := prover(t, internalKey, clk)
	proof := proven(t, p).Header.Get(access.HeaderProof)
	for i := range len(proof) {
		for bit := range 8 {
			r := proven(t, p)
			flipped := []byte(proof)
			flipped[i] ^= 1 << bit
			r.Header.Set(access.HeaderProof, string(flipped))
			if _, err := p.Trust(r, &httpx.Info{}); err == nil {
				t.Fatalf("bit %d of character %d does not matter", bit, i)
			}
		}
	}
}

// Without a proof the caller is nobody, and one who claims to be somebody is turned away.
func TestWithoutProof(t *testing.T) {
	t.Parallel()
	p := prover(t, internalKey, clock.NewManual(time.Unix(1_800_000_000, 0)))
	plain := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/x", nil)
	plain.Header.Set("Authorization", "Bearer x")
	plain.Header.Set("X-Svc-Api-Key", internalKey)
	ctx, err := p.Trust(plain, &httpx.Info{})
	if err != nil || access.From(ctx).Kind != access.Nobody {
		t.Errorf("%v %+v", err, access.From(ctx))
	}
	for _, name := range []string{
		"X-Svc-User-Id", "X-Svc-Session-Id", "X-Svc-Role", "X-Svc-Auth-Data", "X-Svc-Workspace-Id", "X-Svc-Anything", "X_svc_user_id", "X-Svc_role",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/x", nil)
		r.Header[name] = []string{"superadmin"}
		refused(t, p, r, name)
	}
}

// Whatever is sent as a proof, only the gateway's own is believed.
func FuzzProof(f *testing.F) {
	clk := clock.NewManual(time.Unix(1_800_000_000, 0))
	p := prover(f, internalKey, clk)
	out := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/v2/x", nil)
	if err := p.Prove(access.With(context.Background(), caller()), out); err != nil {
		f.Fatal(err)
	}
	good := out.Header.Get(access.HeaderProof)
	for _, seed := range []string{good, good + "=", good + ".", "." + good, "a.b", "", good[:len(good)-1]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/x", nil)
		r.Header[access.HeaderProof] = []string{text}
		if _, err := p.Trust(r, &httpx.Info{}); (err == nil) != (text == good) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
