package manners_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/errs"
)

// mustBeNested checks an error in the shape of /v3.
func mustBeNested(t *testing.T, got answer, status int) {
	t.Helper()
	if got.StatusCode != status {
		t.Errorf("status %d, want %d\n%s", got.StatusCode, status, got.Text)
	}
	var body struct {
		Error struct {
			Code      errs.Code `json:"code"`
			Message   string    `json:"message"`
			RequestID string    `json:"requestId"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.Text), &body); err != nil {
		t.Fatalf("not nested: %v\n%s", err, got.Text)
	}
	if !fits(body.Error.Code, status) || body.Error.Message == "" || body.Error.RequestID != got.Header.Get("X-Correlation-Id") {
		t.Errorf("%s", got.Text)
	}
	mustBeNamed(t, got)
}

// Errors are flat under /v2 and where there is no version, nested under /v3, problem details when asked for.
func errorShapes(t *testing.T, d *door) {
	t.Helper()
	anyone := d.anyone(t)
	for _, path := range []string{"/v2/me", "/v2/nothing", "/nothing"} {
		mustRefuse(t, of(anyone.Get(path)), http.StatusUnauthorized, http.StatusNotFound)
	}
	mustBeNested(t, of(anyone.Get("/v3/me")), http.StatusUnauthorized)
	mustBeNested(t, of(anyone.Get("/v3/nothing")), http.StatusNotFound)
	mustBeNested(t, of(anyone.Get("/v3/me?a=%zz")), http.StatusBadRequest)
	mustBeNested(t, of(anyone.Do(http.MethodPut, "/v3/me", nil)), http.StatusMethodNotAllowed)
	invalid := of(d.admin(t).Post("/v3/workspaces", `{}`))
	mustBeNested(t, invalid, http.StatusUnprocessableEntity)
	if !strings.Contains(invalid.Text, `"details":{"errors":[{"field":"name"`) {
		t.Errorf("the nested error does not name the field: %s", invalid.Text)
	}
}

// Problem details replace either shape, for errors only.
func problemDetails(t *testing.T, d *door) {
	t.Helper()
	for accept, wanted := range map[string]bool{
		"application/problem+json":                         true,
		"Application/Problem+JSON":                         true,
		"application/json, application/problem+json":       true,
		"application/problem+json;q=0.5, */*;q=0.1":        true,
		"application/problem+json;q=0":                     false,
		"application/problem+json;q=0.0, application/json": false,
		"application/problem+jsonx":                        false,
		"application/json":                                 false,
		"*/*":                                              false,
		"text/html":                                        false,
	} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/v2/me", "/v3/me", "/v2//me", "/v1/me"} {
				got := raw(t, d, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAccept: "+accept+"\r\n\r\n")
				if isProblem := got.Header.Get("Content-Type") == "application/problem+json"; isProblem != wanted {
					t.Errorf("%s: %s", path, got.Header.Get("Content-Type"))
				}
				if wanted {
					mustBeProblem(t, got)
				}
			}
			if kind := d.anyone(t).With("Accept", accept).Get("/").Want(http.StatusOK).Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("an answer that is no error has the type %s", kind)
			}
		})
	}
}

func mustBeProblem(t *testing.T, got answer) {
	t.Helper()
	var body struct {
		Type, Title, Detail, Instance string
		Status                        int
		Code                          errs.Code
	}
	if err := json.Unmarshal([]byte(got.Text), &body); err != nil {
		t.Fatal(err)
	}
	if body.Status != got.StatusCode || body.Title != http.StatusText(got.StatusCode) || body.Detail == "" || !fits(body.Code, body.Status) ||
		!strings.HasSuffix(body.Instance, got.Header.Get("X-Correlation-Id")) || body.Type == "" {
		t.Errorf("%s", got.Text)
	}
	mustBeNamed(t, got)
}

// Accept headers that are not well-formed do no harm.
func oddAccepts(t *testing.T, d *door) {
	t.Helper()
	for _, accept := range []string{"a;,b", ";", ",", ";;,,", "a;q", "a;q=", "a/b;q=x,", "*", "application/json;q=NaN", strings.Repeat("a/b,", 1000)} {
		got := raw(t, d, "GET / HTTP/1.1\r\nHost: x\r\nAccept: "+accept+"\r\n\r\n")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("Accept: %s: status %d %s", accept, got.StatusCode, got.Text)
		}
		mustRefuse(t, raw(t, d, "GET /v2/me HTTP/1.1\r\nHost: x\r\nAccept: "+accept+"\r\n\r\n"), http.StatusUnauthorized)
	}
}

// A method that a path does not have is 405 and says which it has; method overrides are not heard.
func wrongMethods(t *testing.T, d *door) {
	t.Helper()
	for path, allowed := range map[string]string{
		"/v2/me":             "GET, HEAD",
		"/v2/login":          "GET, HEAD, POST",
		"/v2/workspaces":     "GET, HEAD, POST",
		"/v2/workspaces/abc": "GET, HEAD, PATCH, DELETE",
		"/v2/readiness":      "GET, HEAD",
		"/oidc/jwks":         "GET, HEAD",
		"/openapi.json":      "GET, HEAD",
	} {
		got := d.admin(t).Do(http.MethodPut, path, `{}`)
		mustRefuse(t, of(got), http.StatusMethodNotAllowed)
		if got.Header.Get("Allow") != allowed {
			t.Errorf("%s: Allow: %s, want %s", path, got.Header.Get("Allow"), allowed)
		}
	}
	id := workspace(t, d.admin(t), "Override")
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"} {
		d.admin(t).With(header, "DELETE").Get("/v2/workspaces/" + id + "?_method=DELETE").Want(http.StatusOK)
	}
	d.admin(t).Get("/v2/workspaces/" + id).Want(http.StatusOK)
}

// HEAD is GET without the body, for errors too.
func headRequests(t *testing.T, d *door) {
	t.Helper()
	for path, status := range map[string]int{"/": http.StatusOK, "/v2/me": http.StatusOK, "/nothing": http.StatusNotFound, "/v2//": http.StatusBadRequest} {
		got := d.admin(t).Do(http.MethodHead, path, nil).Want(status)
		if len(got.Body) > 0 || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v %s", path, got.Header, got.Body)
		}
		mustBeNamed(t, of(got))
	}
}

// A correlation id is ours, new for each request, and in the log; a client's is kept only where that is allowed and harmless.
func correlationIDs(t *testing.T, d *door) {
	t.Helper()
	seen := map[string]bool{}
	for _, sent := range []string{"", "my-own-id-12345", "<script>", strings.Repeat("a", 1000)} {
		id := d.anyone(t).With("X-Correlation-Id", sent).Get("/nothing").Header.Get("X-Correlation-Id")
		if id == sent || seen[id] || len(id) != 36 {
			t.Errorf("sent %q, got %q", sent, id)
		}
		seen[id] = true
		eventually(t, "the request is logged", func() bool { return strings.Contains(d.Logs.String(), id) })
	}
}

func correlationIDIsKept(t *testing.T, d *door) {
	t.Helper()
	for sent, kept := range map[string]bool{
		"my-own-id-12345": true, "12345678": true, strings.Repeat("a", 64): true,
		"1234567": false, strings.Repeat("a", 65): false, "with space": false, "semi;colon": false, "id_with_line": false,
		"<script>alert(1)</script>": false, "../../etc/passwd": false, "é-é-é-é-é": false, "": false,
	} {
		if got := d.anyone(t).With("X-Correlation-Id", sent).Get("/").Header.Get("X-Correlation-Id"); (got == sent) != kept {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

// An error that says 401 says how to sign in.
func challenges(t *testing.T, d *door) {
	t.Helper()
	for _, c := range []struct{ header, value, code string }{
		{"Accept", "*/*", "missing_token"},
		{"Authorization", "Bearer nonsense", "invalid_token"},
		{"Authorization", "Basic YTpi", "invalid_token"},
		{"X-Svc-Api-Key", "wrong", "invalid_credentials"},
	} {
		got := d.anyone(t).With(c.header, c.value).Get("/v2/me").WantError(http.StatusUnauthorized, c.code)
		if got.Header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s: %v", c.code, got.Header)
		}
	}
}
