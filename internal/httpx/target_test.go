package httpx_test

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"atelier/internal/httpx"
)

// A path that passes means one thing: cleaning it or decoding it once more changes nothing, and it has no odd bytes.
func FuzzCheckTarget(f *testing.F) {
	for _, seed := range []string{
		"/v2/me", "/", "/v2/", "//v2", "/v2/../v1", "/%2e%2e/x", "/a%2fb", "/a%5cb", "/a;b", "/a%00", "/a%25", "/ä", "/%c3%a4", "/%ff", "/a/./b",
		"/a?b=%00", "/a?b=%ff", "/a?;", "http://x/y", "*", "/..a/b..", "/...", "/a%", "/%", "/a#b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		u, err := httpx.CheckTarget(uri)
		if err != nil {
			return
		}
		p := u.Path
		if clean := path.Clean(p); clean != p && clean+"/" != p {
			t.Errorf("%q passes and is %q after cleaning", p, clean)
		}
		if again, err := url.PathUnescape(p); err != nil || again != p {
			t.Errorf("%q passes and is %q after decoding again", p, again)
		}
		if !utf8.ValidString(p) || strings.ContainsAny(p, "\x00\\;\r\n") || !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") {
			t.Errorf("%q passes", p)
		}
		if strings.Count(u.EscapedPath(), "/") != strings.Count(p, "/") {
			t.Errorf("%q has other segments than %q", u.EscapedPath(), p)
		}
		query, err := url.ParseQuery(u.RawQuery)
		if err != nil {
			t.Errorf("the query of %q passes: %v", uri, err)
		}
		for name, values := range query {
			if text := name + strings.Join(values, ""); !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Errorf("the query of %q passes with %q", uri, text)
			}
		}
	})
}

// The headers with which a client could pass for the gateway are gone; what clients may say is not.
func TestStripInternal(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	for _, name := range []string{
		"X-Svc-User-Id", "X-Svc-Role", "X-Svc-Proof", "X-Svc-Token", "X-Svc-Api-Version", "X-Svc-Api-Keys", "x-svc-lower", "X_Svc_User_Id",
		"X-Svc_user-Id", "Under_score", "X-Svc-",
	} {
		h[name] = []string{"x"}
	}
	kept := []string{"X-Svc-Api-Key", "X-Svc-Csrf-Token", "Authorization", "X-Svcx-A", "X-Sv", "Cookie"}
	for _, name := range kept {
		h[name] = []string{"x"}
	}
	httpx.StripInternal(h)
	if len(h) != len(kept) {
		t.Errorf("left: %v", h)
	}
	for _, name := range kept {
		if h.Get(name) == "" {
			t.Errorf("%s is gone", name)
		}
	}
}

// What an answer depends on is named once, in one header.
func TestAddVary(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	httpx.AddVary(h, "Origin")
	httpx.AddVary(h, "Accept-Encoding", "origin")
	h.Add("Vary", "Accept, Accept-Encoding")
	httpx.AddVary(h)
	if got := h.Values("Vary"); len(got) != 1 || got[0] != "Origin, Accept-Encoding, Accept" {
		t.Errorf("%q", got)
	}
	for _, c := range [][3]string{
		{"Origin", "Accept-Encoding", "Origin, Accept-Encoding"}, {"Origin", "origin", "Origin"}, {"Origin", "Accept, origin", "Origin, Accept"}, {"Origin", "", "Origin"}, {" ", "Origin", "Origin"},
	} {
		h := http.Header{"Vary": {c[0]}}
		httpx.AddVary(h, c[1])
		if got := h.Values("Vary"); len(got) != 1 || got[0] != c[2] {
			t.Errorf("%q and %q: %q", c[0], c[1], got)
		}
	}
}
