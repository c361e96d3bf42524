package manners_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// request is a raw GET of the super admin for a target that http.Client would tidy up.
func request(d *door, target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.token + "\r\nConnection: close\r\n\r\n"
}

// B-HTP-04: a path is what it says or it is refused; it is never routed to something weaker.
func ambiguousPaths(t *testing.T, d *door) {
	t.Helper()
	bad, missing := http.StatusBadRequest, http.StatusNotFound
	for target, status := range map[string]int{
		"//v2/me":                         bad,
		"/v2//me":                         bad,
		"/v2/me//":                        bad,
		"/v2/./me":                        bad,
		"/v2/../v2/me":                    bad,
		"/v2/me/..":                       bad,
		"/v2/me/.":                        bad,
		"/..":                             bad,
		"/%2e%2e/v2/me":                   bad,
		"/v2/%2e/me":                      bad,
		"/v2/.%2e/me":                     bad,
		"/v2%2fme":                        bad,
		"/v2%2Fme":                        bad,
		"/v2/workspaces/a%2fb":            bad,
		"/v2/workspaces/..%2f..%2fme":     bad,
		"/v2%5cme":                        bad,
		`/v2\me`:                          bad,
		"/v2/me;x=1":                      bad,
		"/v2;x=1/me":                      bad,
		"/v2/me%3bx=1":                    bad,
		"/v2/me%00":                       bad,
		"/v2/me%0a":                       bad,
		"/v2/me%7f":                       bad,
		"/v2/%252e%252e/me":               bad,
		"/v2/workspaces/%2565":            bad,
		"/v2/workspaces/%ff":              bad,
		"/v2/workspaces/%c0%ae":           bad,
		"/v2/../v1/me":                    bad,
		"/v3/../v2/me":                    bad,
		"/v2/me/":                         missing,
		"/v2/me.":                         missing,
		"/v2/me.json":                     missing,
		"/v2/ME":                          missing,
		"/V2/me":                          missing,
		"/v2x/me":                         missing,
		"/v22/me":                         missing,
		"/v4/me":                          missing,
		"/v2":                             missing,
		"/v3":                             missing,
		"/v2/":                            missing,
		"/me":                             missing,
		"/nothing":                        missing,
		"/docs/":                          missing,
		"/docs/index.html":                missing,
		"/docs/docs.go":                   missing,
		"/index.html":                     missing,
		"/.git/config":                    missing,
		"/%6de":                           missing,
		"/sys/readiness/workspaces":       missing,
		"/debug/pprof/":                   missing,
		"/v2/workspaces/":                 missing,
		"/v2/workspaces/x/y/z":            missing,
		"/" + strings.Repeat("a", 8<<10):  http.StatusRequestURITooLong,
		"/?" + strings.Repeat("a", 8<<10): http.StatusRequestURITooLong,
		"/v2/%6d%65":                      http.StatusOK, // another spelling of /v2/me that means nothing else
	} {
		t.Run(target[:min(len(target), 40)], func(t *testing.T) {
			t.Parallel()
			got := raw(t, d, request(d, target))
			if status == http.StatusOK {
				if got.StatusCode != status {
					t.Errorf("status %d: %s", got.StatusCode, got.Text)
				}
				mustBeNamed(t, got)
				return
			}
			if strings.HasPrefix(target, "/v3") {
				mustBeNested(t, got, status)
				return
			}
			mustRefuse(t, got, status)
		})
	}
}

// B-HTP-05: queries that two parsers read differently, or that are too much.
func badQueries(t *testing.T, d *door) {
	t.Helper()
	parameters := func(n int) string { return strings.TrimSuffix(strings.Repeat("a&", n), "&") }
	numbered := func(n int) string {
		values := url.Values{}
		for i := range n {
			values.Set("p"+strings.Repeat("x", i), "")
		}
		return values.Encode()
	}
	for query, status := range map[string]int{
		numbered(99):                            http.StatusOK,
		parameters(101):                         http.StatusBadRequest,
		parameters(4000):                        http.StatusBadRequest,
		parameters(10_001):                      http.StatusRequestHeaderFieldsTooLarge,
		"search=" + strings.Repeat("a", 64<<10): http.StatusRequestHeaderFieldsTooLarge,
		"dirty=true&dirty=false":                http.StatusBadRequest,
		"dirty=true&d%69rty=true":               http.StatusBadRequest,
		"dirty[]=true":                          http.StatusBadRequest,
		"dirty%5B0%5D=true":                     http.StatusBadRequest,
		"dirty=true;limit=1":                    http.StatusBadRequest,
		"dirty=perhaps":                         http.StatusBadRequest,
		"dirty=1":                               http.StatusBadRequest,
		"dirty=TRUE":                            http.StatusBadRequest,
		"search=%zz":                            http.StatusBadRequest,
		"search=%f":                             http.StatusBadRequest,
		"search=%":                              http.StatusBadRequest,
		"search=%ff":                            http.StatusBadRequest,
		"search=a%00b":                          http.StatusBadRequest,
		"%00=a":                                 http.StatusBadRequest,
		"limit=0":                               http.StatusBadRequest, // B-IDS-06
		"limit=-1":                              http.StatusBadRequest,
		"limit=2001":                            http.StatusBadRequest,
		"limit=1000000000":                      http.StatusBadRequest,
		"limit=99999999999999999999":            http.StatusBadRequest,
		"limit=abc":                             http.StatusBadRequest,
		"limit=1.0":                             http.StatusBadRequest,
		"limit=0x10":                            http.StatusBadRequest,
		"limit=+5":                              http.StatusBadRequest,
		"page=-1":                               http.StatusBadRequest,
		"page=1000001":                          http.StatusBadRequest,
		"sort=password":                         http.StatusBadRequest,
		"sort=name,slug":                        http.StatusBadRequest,
		"sort=name;drop":                        http.StatusBadRequest,
		"limit=2000":                            http.StatusOK,
		"search=%25_%27%22--":                   http.StatusOK,
		"unknown=1":                             http.StatusOK,
	} {
		t.Run(query[:min(len(query), 40)], func(t *testing.T) {
			t.Parallel()
			got := raw(t, d, request(d, "/v2/workspaces?"+query))
			if status == http.StatusOK {
				mustBeNamed(t, got)
				if got.StatusCode != status {
					t.Errorf("status %d: %s", got.StatusCode, got.Text)
				}
				return
			}
			mustRefuse(t, got, status)
		})
	}
}

// B-IDS-01: an id that cannot exist is answered like one that does not. A visitor learns nothing from either.
func oddIdentifiers(t *testing.T, d *door) {
	t.Helper()
	visitor := d.Visitor()
	for _, id := range []string{
		"*", "null", "undefined", "0", "-1", "😀", "\u202eabc", "__proto__", "$ne", "' or 1=1--", "{{7*7}}", "${7*7}", "platform",
		"slug:platform", "<script>", "a b", "%2A", strings.Repeat("a", 64), "NUL", "~", "ABCDEFG",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c := d.anyone(t)
			c.Token = visitor.Token
			for _, path := range []string{"", "/events"} {
				escaped := "/v2/workspaces/" + strings.ReplaceAll(url.PathEscape(id), "%252A", "%2A") + path
				got := c.Get(escaped).WantError(http.StatusForbidden, "workspace_access_denied")
				mustRefuse(t, of(got), http.StatusForbidden)
			}
		})
	}
	mustRefuse(t, of(visitor.Get("/v2/workspaces/"+strings.Repeat("a", 200))), http.StatusBadRequest)
}
