package manners_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"atelier/internal/app/apptest"
	"atelier/internal/sqldb/sqldbtest"
)

// B-HTP-07: nobody becomes somebody by saying so.
func identityHeaders(t *testing.T, d *door) {
	t.Helper()
	owner := d.admin(t).Get("/v2/me").Want(http.StatusOK).Text("id")
	for _, name := range []string{
		"x-svc-user-id", "X-SVC-USER-ID", "X_Svc_User_Id", "x-svc_user-id", "X-Svc-Role", "x_svc_role", "X-Svc-Session-Id", "X-Svc-Auth-Data",
		"X-Svc-Workspace-Id", "X-Svc-Proof", "x_svc_proof", "X-Svc-Internal", "X-Svc-Principal",
	} {
		for _, value := range []string{owner, "superadmin", apptest.InternalKey} {
			for _, more := range []string{"", "Connection: " + name + "\r\n", name + ": again\r\n", "Trailer: " + name + "\r\n"} {
				got := raw(t, d, "GET /v2/me HTTP/1.1\r\nHost: x\r\n"+name+": "+value+"\r\n"+more+"\r\n")
				mustRefuse(t, got, http.StatusUnauthorized)
			}
		}
	}
	trailer := raw(t, d, "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-Svc-User-Id\r\n\r\n"+
		"10\r\n{\"name\":\"Trail\"}\r\n0\r\nX-Svc-User-Id: "+owner+"\r\n\r\n")
	mustRefuse(t, trailer, http.StatusUnauthorized)
	visitor := d.Visitor()
	visitor.With("X-Svc-Role", "superadmin").Get("/v2/readiness").WantError(http.StatusForbidden, "permission_denied")
	if id := visitor.With("X-Svc-User-Id", owner).Get("/v2/me").Want(http.StatusOK).Text("id"); id == owner {
		t.Error("a visitor became the owner")
	}
}

// A service that is reached over the network believes the gateway's proof and nothing else.
func TestServiceWithoutGateway(t *testing.T) {
	t.Parallel()
	server := apptest.New(t, "TARGET=workspaces", "DATABASE_URL="+sqldbtest.PostgresURL(t))
	d := &door{Server: server}
	for name, value := range map[string]string{
		"X-Svc-User-Id": "a", "X-Svc-Role": "superadmin", "X-Svc-Session-Id": "a", "X-Svc-Workspace-Id": "a", "X-Svc-Auth-Data": "{}",
		"X-Svc-Proof": "nonsense", "X_Svc_User_Id": "a", "X-Svc-Anything": "a",
	} {
		d.anyone(t).With(name, value).Get("/v2/workspaces").WantError(http.StatusUnauthorized, "invalid_token")
	}
	for name, value := range map[string]string{
		"Accept": "*/*", "Authorization": "Bearer " + apptest.InternalKey, "X-Svc-Api-Key": apptest.InternalKey, "Cookie": "access-token=x",
	} {
		d.anyone(t).With(name, value).Get("/v2/workspaces").WantError(http.StatusUnauthorized, "missing_token")
		d.anyone(t).With(name, value).Get("/sys/readiness/workspaces").WantError(http.StatusUnauthorized, "missing_token")
	}
}

// B-HTP-06: who asks, and what they say about where they come from, is in no address that we give.
func spoofedHosts(t *testing.T, d *door) {
	t.Helper()
	id := workspace(t, d.admin(t), "Hosts")
	for _, more := range []string{
		"Host: evil.test\r\n", "Host: evil.test:8080\r\n", "Host: [::1]\r\n", "Host: \r\n",
		"Host: x\r\nX-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /evil.test\r\nForwarded: host=evil.test\r\n",
		"Host: x\r\nX-Original-Url: /evil.test\r\nX-Rewrite-Url: /evil.test\r\nX-Host: evil.test\r\n",
	} {
		for _, path := range []string{"/v2/workspaces?limit=1", "/v2/workspaces/" + id, "/v2/readiness", "/openapi.json"} {
			got := raw(t, d, "GET "+path+" HTTP/1.1\r\n"+more+"Authorization: Bearer "+d.token+"\r\n\r\n")
			var head bytes.Buffer
			_ = got.Header.Write(&head)
			if got.StatusCode != http.StatusOK || strings.Contains(head.String()+got.Text, "evil.test") {
				t.Errorf("%s with %q: status %d\n%s", path, more, got.StatusCode, head.String())
			}
		}
	}
}

// Every response, whatever it is, tells browsers to be careful.
func securityHeaders(t *testing.T, d *door) {
	t.Helper()
	for _, path := range []string{
		"/", "/v2/me", "/nothing", "/v2//", "/v1/x", "/healthz", "/docs", "/openapi.json", "/oidc/jwks", "/v2/workspaces", "/v2/workspaces/x",
	} {
		got := d.admin(t).With("Accept-Encoding", "gzip").Get(path)
		for name, want := range map[string]string{
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'", "Cache-Control": "",
		} {
			if !strings.HasPrefix(got.Header.Get(name), want) || got.Header.Get(name) == "" {
				t.Errorf("%s: %s: %q", path, name, got.Header.Get(name))
			}
		}
		if vary := got.Header.Values("Vary"); len(vary) != 1 || !strings.Contains(vary[0], "Origin") {
			t.Errorf("%s: Vary: %q", path, vary)
		}
		if got.Header.Get("Strict-Transport-Security") != "" || got.Header.Get("Server") != "" || got.Header.Get("X-Powered-By") != "" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
}

func mustInsistOnHTTPS(t *testing.T, d *door) {
	t.Helper()
	if got := d.anyone(t).Get("/nothing").Header.Get("Strict-Transport-Security"); got == "" {
		t.Error("no Strict-Transport-Security behind HTTPS")
	}
}

// Pages of listed origins may call and read errors; others get no permission at all.
func TestCORS(t *testing.T) {
	t.Parallel()
	d := start(t, "API_URL=https://api.example.test/v2", "CORS_ADDITIONAL_ALLOWED_ORIGINS=https://console.example.test,http://localhost:5173,.pages.test")
	for origin, allowed := range map[string]bool{
		"https://api.example.test": true, "https://console.example.test": true, "http://localhost:5173": true, "https://a.pages.test": true,
		"https://a.b.pages.test": true, "https://a.pages.test:8443": true,
		"null": false, "": false, "*": false, "https://evil.test": false, "http://console.example.test": false,
		"https://console.example.test.evil.test": false, "https://console.example.test:444": false, "https://evilconsole.example.test": false,
		"https://console.example.test/": false, "https://console.example.test@evil.test": false, "http://localhost:5174": false,
		"https://pages.test": false, "https://.pages.test": false, "https://evilpages.test": false, "http://a.pages.test": false,
		"https://a.pages.test.evil.test": false, "https://evil.test/.pages.test": false, "https://evil.test?.pages.test": false,
		"https://evil.test#.pages.test": false, "https://evil.test\\.pages.test": false, "https://a@b.pages.test": false,
		"https://a.pages.test/x": false, "https://a.pages.test?x": false, "https://a.pages.test, https://evil.test": false, "chrome-extension://abc": false,
		"https://a.pages.test%00.evil.test": false, "https://evil.test%2f.pages.test": false, "HTTPS://evil.test": false,
	} {
		for _, path := range []string{"/", "/v2/me", "/v2//", "/v1/x"} {
			got := d.anyone(t).With("Origin", origin).Get(path)
			mustPermit(t, origin, got, allowed)
		}
		preflight := d.anyone(t).With("Origin", origin).With("Access-Control-Request-Method", "PATCH").
			With("Access-Control-Request-Headers", "authorization,content-type").Do(http.MethodOptions, "/v2/workspaces/x", nil)
		mustPermit(t, origin, preflight, allowed)
		if origin != "" && (preflight.Status != http.StatusNoContent || (preflight.Header.Get("Access-Control-Allow-Methods") != "") != allowed) {
			t.Errorf("%s: preflight %d %v", origin, preflight.Status, preflight.Header)
		}
	}
	mustInsistOnHTTPS(t, d)
	two := raw(t, d, "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://console.example.test\r\nOrigin: https://evil.test\r\n\r\n")
	if two.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("two origins are one too many")
	}
}

func mustPermit(t *testing.T, origin string, got *apptest.Response, allowed bool) {
	t.Helper()
	want, credentials := "", ""
	if allowed {
		want, credentials = origin, "true"
	}
	if got.Header.Get("Access-Control-Allow-Origin") != want || got.Header.Get("Access-Control-Allow-Credentials") != credentials {
		t.Errorf("origin %q: %v", origin, got.Header)
	}
	if !strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("origin %q: Vary: %v", origin, got.Header.Values("Vary"))
	}
	if allowed && !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), "X-Correlation-Id") {
		t.Errorf("origin %q may not read the correlation id", origin)
	}
}

// Larger answers are compressed the way the client can read; caches are told.
func compression(t *testing.T, d *door) {
	t.Helper()
	plain := d.anyone(t).Get("/openapi.json").Want(http.StatusOK)
	for accept, encoding := range map[string]string{
		"": "", "identity": "", "br": "", "gzip;q=0": "", "gzip;q=0, zstd;q=0": "", "nonsense;;q=,": "",
		"gzip": "gzip", "GZIP": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "zstd;q=0.1, gzip": "gzip", "br, gzip;q=0.5": "gzip",
	} {
		got := d.anyone(t).With("Accept-Encoding", accept).Get("/openapi.json").Want(http.StatusOK)
		if got.Header.Get("Content-Encoding") != encoding {
			t.Errorf("%q: encoded as %q, want %q", accept, got.Header.Get("Content-Encoding"), encoding)
			continue
		}
		if !strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%q: Vary: %v", accept, got.Header.Values("Vary"))
		}
		if text := unpack(t, encoding, got.Body); !bytes.Equal(text, plain.Body) {
			t.Errorf("%q: %d bytes, want %d", accept, len(text), len(plain.Body))
		}
	}
	if small := d.anyone(t).With("Accept-Encoding", "gzip").Get("/"); small.Header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
	if failed := d.anyone(t).With("Accept-Encoding", "gzip").Get("/v2/me"); failed.Header.Get("X-Correlation-Id") == "" {
		t.Error("the error has no correlation id")
	}
}

func unpack(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var reader io.Reader = bytes.NewReader(body)
	switch encoding {
	case "gzip":
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		reader = unzipped
	case "zstd":
		unzipped, err := zstd.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		defer unzipped.Close()
		reader = unzipped
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// B-HTP-10: ranges and conditions on what is not downloaded in parts do no harm.
func rangesAndConditions(t *testing.T, d *door) {
	t.Helper()
	for _, path := range []string{"/docs", "/docs/docs.js", "/openapi.json", "/"} {
		for name, value := range map[string]string{
			"Range": "bytes=0-0", "If-Range": `"x"`, "If-Match": `"x"`, "If-None-Match": `"x"`, "If-Modified-Since": "nonsense",
			"If-Unmodified-Since": "Mon, 01 Jan 1990 00:00:00 GMT",
		} {
			got := d.anyone(t).With(name, value).Get(path).Want(http.StatusOK)
			mustBeNamed(t, answer{Response: &http.Response{Header: got.Header}})
		}
		for _, value := range []string{"bytes=zz", "bytes=" + strings.Repeat("0-,", 1000), "bytes=999999999-", "lines=1-2"} {
			d.anyone(t).With("Range", value).Get(path).Want(http.StatusOK)
		}
	}
}
