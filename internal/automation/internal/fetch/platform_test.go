package fetch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
)

func TestWhatThePlatformIs(t *testing.T) {
	t.Parallel()
	const api = "https://api.example.com/v2"
	for address, want := range map[string]bool{
		"https://api.example.com/v2/workspaces":                   true,
		"https://API.example.com:443/v2/workspaces/w/webhooks/x":  true,
		"https://api.example.com/v2/workspaces/slug:a/webhooks/x": true,
		"https://api.example.com/v2/pages/x":                      true,
		"https://api.example.com/v2/files/":                       true,
		"https://api.example.com/v2/events":                       false,
		"https://api.example.com/v2/workspacesx":                  false,
		"https://api.example.com/v3/workspaces":                   false,
		"http://api.example.com/v2/workspaces":                    false,
		"https://api.example.com:8443/v2/workspaces":              false,
		"https://api.example.com.evil.com/v2/workspaces":          false,
		"https://u@api.example.com/v2/workspaces":                 false,
		"https://api.example.com/v2/workspaces/../../admin":       false,
		"https://api.example.com/v2/workspaces/%2e%2e/admin":      false,
		"https://api.example.com/v2/workspaces%2fx":               false,
		"https://api.example.com/v2/workspaces//x":                false,
		"https://api.example.com/v2/workspaces;x/y":               false,
	} {
		if got := fetch.IsPlatform(api, address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// transport is a platform within the process.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func reply(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}
}

func TestPlatformIsReachedInside(t *testing.T) {
	t.Parallel()
	c := client(t, func(d *fetch.Deps) {
		d.APIURL = "https://private.test/v2/"
		d.Platform = transport(func(r *http.Request) (*http.Response, error) {
			return reply(r, 200, "text/plain", r.URL.Path+" "+r.Header.Get(fetch.HeaderDepth)+" "+r.Header.Get(fetch.HeaderHops)), nil
		})
	})
	got, err := c.Try(t.Context(), parse(t, `{"url":"https://private.test/v2/workspaces/w/webhooks/x"}`), nil)
	if err != nil || got != "/v2/workspaces/w/webhooks/x 7 3" {
		t.Errorf("got %v %v", got, err)
	}
	_, err = c.Try(t.Context(), parse(t, `{"url":"https://private.test/v2/admin"}`), nil)
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
}

// A redirect to another party takes no credential along, but always how many automations led to it.
func TestRedirects(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 10)
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		_, _ = io.WriteString(w, "there")
	})
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	inside := 0
	c := client(t, func(d *fetch.Deps) {
		d.APIURL = "https://private.test"
		d.Platform = transport(func(r *http.Request) (*http.Response, error) {
			inside++
			if r.Header.Get(fetch.HeaderDepth) != "7" || r.Header.Get("Authorization") != "" {
				t.Errorf("the platform sees %v", r.Header)
			}
			return reply(r, 200, "text/plain", "inside"), nil
		})
	})
	got, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`","headers":{"authorization":"Bearer x","x-api-key":"y","cookie":"z"}}`), nil)
	if err != nil || got != "there" || len(seen) != 1 {
		t.Fatalf("got %v %v", got, err)
	}
	if h := <-seen; h.Get("Authorization")+h.Get("X-Api-Key")+h.Get("Cookie") != "" || h.Get(fetch.HeaderDepth) != "7" || h.Get(fetch.HeaderHops) != "3" {
		t.Errorf("the target sees %v", h)
	}
	toPlatform := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://private.test/workspaces/x", http.StatusFound)
	})
	if got, err := c.Try(t.Context(), parse(t, `{"url":"`+toPlatform+`","headers":{"authorization":"Bearer x"}}`), nil); err != nil || got != "inside" || inside != 1 {
		t.Errorf("got %v %v", got, err)
	}
	toPrivate := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.1.2.3/", http.StatusFound)
	})
	_, err = c.Try(t.Context(), parse(t, `{"url":"`+toPrivate+`"}`), nil)
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
}

func TestForbiddenHosts(t *testing.T) {
	t.Parallel()
	base := serve(t, echo)
	bounce := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(base, "127.0.0.1", "localhost", 1), http.StatusFound)
	})
	c := client(t, func(d *fetch.Deps) {
		d.Forbidden = []string{" LOCALHOST. ", ".forbidden.test", "127.0.0.9", "Bücher.test"}
	})
	for _, address := range []string{
		strings.Replace(base, "127.0.0.1", "localhost", 1), bounce, "http://forbidden.test", "http://a.b.FORBIDDEN.test.", "http://127.0.0.9", "http://[::ffff:127.0.0.9]",
		"http://xn--bcher-kva.test",
	} {
		_, err := c.Try(t.Context(), parse(t, `{"url":"`+address+`"}`), nil)
		wantFailure(t, err, fetch.FetchError, egress.Unreachable)
	}
	if _, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil); err != nil {
		t.Errorf("another host: %v", err)
	}
}

func TestSelfSignedCertificates(t *testing.T) {
	t.Parallel()
	base := serveTLS(t, echo)
	c := client(t, nil)
	_, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil)
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
	got, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`/x","allowSelfSignedCert":true}`), nil)
	if err != nil || value.Get(got, "line") != "GET /x" {
		t.Errorf("got %s %v", written(got), err)
	}
	_, err = c.Try(t.Context(), parse(t, `{"url":"`+base+`"}`), nil) // not over the connection that is open now
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
}

// secrets knows one secret.
type secrets struct{}

func (secrets) Reveal(_ contextT, reference, workspaceID string) (string, bool, error) {
	return "p&ss", reference == "$secret:a_B-1" && workspaceID == "w", nil
}

func TestSecretReferences(t *testing.T) {
	t.Parallel()
	var hidden []string
	hide := func(text string) { hidden = append(hidden, text) }
	given := parse(t, `{"url":"https://x/$secret:a_B-1/y","headers":{"a":"Bearer $secret:a_B-1"},"query":{"q":["$secret:a_B-1", 1]},"body":{"deep":[{"k":"$secret:a_B-1"}],"n":1},
		"auth":{"basic":{"password":"$secret:a_B-1"}},"multipart":[{"value":"$secret:a_B-1"}],"stream":{"payload":"$secret:a_B-1"},"output":"$secret:a_B-1"}`)
	before := written(given)
	got, err := fetch.Open(t.Context(), secrets{}, given, hide)
	want := strings.Replace(strings.ReplaceAll(before, "$secret:a_B-1", "p&ss"), `"stream":{"payload":"p&ss"},"output":"p&ss"`, `"stream":{"payload":"$secret:a_B-1"},"output":"$secret:a_B-1"`, 1)
	if err != nil || written(got) != want {
		t.Errorf("got %s %v\nwant %s", written(got), err, want)
	}
	if written(given) != before {
		t.Error("the parameters themselves were changed")
	}
	if strings.Join(hidden, " ") != "p&ss p%26ss p&ss" {
		t.Errorf("hidden are %q", hidden)
	}
	for _, text := range []string{`{"url":"$secret:other"}`, `{"body":["$secret:"]}`} {
		_, err = fetch.Open(t.Context(), secrets{}, parse(t, text), hide)
		wantFailure(t, err, machine.InvalidInstruction, "")
	}
	_, err = fetch.Open(t.Context(), nil, parse(t, `{"url":"$secret:a_B-1"}`), hide)
	wantFailure(t, err, machine.InvalidInstruction, "")
}
