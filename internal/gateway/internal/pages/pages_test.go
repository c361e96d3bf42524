package pages_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"atelier/internal/gateway/internal/pages"
)

func site(t *testing.T) *pages.Site {
	t.Helper()
	s, err := pages.New(pages.Options{Passkeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// show gets a page.
func show(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	target, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages.List() {
		if page.Path != target.Path {
			continue
		}
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		maps.Copy(r.Header, header)
		site(t).Handler(page).ServeHTTP(w, r)
		return w
	}
	t.Fatalf("no page at %s", path)
	return nil
}

// After a sign-in the browser goes to a path of this host, whatever the address says (B-OID-07).
func TestSafeReturn(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"/", "/account", "/account#passkeys", "/a/b?c=d&e=%2F%2Ff", "/device?user_code=ABCD-EFGH", "/oidc/auth?redirect_uri=https%3A%2F%2Fapp.test%2Fcb", "/caf%C3%A9",
	} {
		if got := pages.SafeReturn(good); got != good {
			t.Errorf("%q became %q", good, got)
		}
	}
	for _, bad := range []string{
		"", "account", "//evil.test", "///evil.test", `/\evil.test`, `\\evil.test`, `/\/evil.test`, "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
		"https://evil.test/", "http:evil.test", "/%2fevil.test", "/%2Fevil.test", "/%5cevil.test", "/%252fevil.test", "/%25252fevil.test", "/%2525252fevil.test",
		"/a%0d%0aSet-Cookie:x", "/a\r\nb", "/a%00", "/a?b=%0d%0ac", "/a?b=%250d%250ac", "/\t/evil.test", "/%09/evil.test", " //evil.test", "/ok/%2e%2e//evil.test",
		"/%", "/%zz", "https:/account", "//account@evil.test", "/" + strings.Repeat("a", 3000), "\x00", "?a", "#a", "evil.test", "@evil.test", "http://localhost@evil.test",
	} {
		if got := pages.SafeReturn(bad); got != pages.Home {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// FuzzSafeReturn looks for an address that a browser would leave the host for.
func FuzzSafeReturn(f *testing.F) {
	for _, seed := range []string{"/a", "//b", `/\c`, "/%2f%2fd", "/a?b#c"} {
		f.Add(seed)
	}
	here, _ := url.Parse("https://atelier.test/signin")
	f.Fuzz(func(t *testing.T, wanted string) {
		got := pages.SafeReturn(wanted)
		end, err := here.Parse(got)
		if err != nil || end.Host != here.Host || end.Scheme != here.Scheme || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.Contains(got, `\`) {
			t.Errorf("%q leads to %v (%v)", wanted, end, err)
		}
	})
}

// The language is the one that was clicked, then the one the client asks for, then the browser's.
func TestLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, accept, want string }{
		"nothing":         {"/signin", "", "en"},
		"browser":         {"/signin", "fr-CA,fr;q=0.9,en;q=0.8", "fr"},
		"unknown":         {"/signin", "tlh, de;q=0.5", "de"},
		"client":          {"/signin?ui_locales=xx+de-AT+fr", "fr", "de"},
		"clicked":         {"/signin?lang=fr&ui_locales=de", "de", "fr"},
		"clicked unknown": {"/signin?lang=../../etc", "de", "de"},
		"hostile":         {"/signin?lang=%22%3E%3Cscript%3E", strings.Repeat("a-", 5000), "en"},
	} {
		w := show(t, c.path, http.Header{"Accept-Language": {c.accept}})
		if got := w.Header().Get("Content-Language"); got != c.want || !strings.Contains(w.Body.String(), `<html lang="`+c.want+`">`) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Every page in every language is whole, has a strict policy, and contains nothing that the policy would refuse.
func TestPages(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<script(?:>| [^>]*>)[^<]|<style| style=| on[a-z]+=|javascript:`)
	for _, page := range pages.List() {
		for _, lang := range []string{"en", "fr", "de"} {
			w := show(t, page.Path+"?lang="+lang, nil)
			body := w.Body.String()
			if !strings.Contains(body, "</html>") || strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "<no value>") {
				t.Errorf("%s in %s is not whole", page.Path, lang)
			}
			data := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(body)
			var decoded struct{ Lang string }
			if data == nil || json.Unmarshal([]byte(data[1]), &decoded) != nil || decoded.Lang != lang {
				t.Fatalf("%s: the data cannot be read", page.Path)
			}
			if found := inline.FindString(strings.Replace(body, data[0], "", 1)); found != "" {
				t.Errorf("%s: %s", page.Path, found)
			}
			policy := w.Header().Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
				if !strings.Contains(policy, part) {
					t.Errorf("%s: no %s", page.Path, part)
				}
			}
			if strings.Contains(policy, "unsafe") || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", page.Path, w.Header())
			}
		}
	}
}

// What stands in the address stays text.
func TestHostileAddress(t *testing.T) {
	t.Parallel()
	hostile := `"></script><script>alert(1)</script><img src=x onerror=alert(1)>'` + "`"
	for _, page := range pages.List() {
		query := url.Values{}
		for _, name := range []string{"interaction", "return_to", "error", "token", "user_code", "client", "x" + hostile} {
			query.Set(name, hostile)
		}
		body := show(t, page.Path+"?"+query.Encode(), http.Header{"Cookie": {"access-token=" + url.QueryEscape(hostile)}}).Body.String()
		for _, bad := range []string{"<script>alert", "<img src=x", "onerror=alert(1)>"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s contains %s", page.Path, bad)
			}
		}
	}
}

// Every text that a page or a script asks for is there in every language, and no language has others.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	catalogues := map[string]map[string]string{}
	for _, path := range glob(t, "messages/*.json") {
		var texts map[string]string
		if err := json.Unmarshal([]byte(read(t, path)), &texts); err != nil {
			t.Fatal(path, err)
		}
		catalogues[path] = texts
	}
	english := catalogues["messages/en.json"]
	placeholders := regexp.MustCompile(`\{\w+\}`)
	for path, texts := range catalogues {
		for key, text := range english {
			if texts[key] == "" {
				t.Errorf("%s lacks %s", path, key)
			}
			for _, name := range placeholders.FindAllString(text, -1) {
				if !strings.Contains(texts[key], name) {
					t.Errorf("%s: %s lacks %s", path, key, name)
				}
			}
		}
		if len(texts) != len(english) {
			t.Errorf("%s has texts that nobody asks for", path)
		}
	}
	asked := regexp.MustCompile(`(?:\.T |\bt\()"([^"]+)"|\? "(\w+\.\w+)"|: "((?:common|account|signin|signup|device)\.\w+)"`)
	for _, path := range append(glob(t, "templates/*.html"), glob(t, "static/*.js")...) {
		for _, match := range asked.FindAllStringSubmatch(read(t, path), -1) {
			key := match[1] + match[2] + match[3]
			if english[key] == "" {
				t.Errorf("%s asks for %s", path, key)
			}
		}
	}
}

// Scripts never make markup out of text, and load only each other.
func TestScripts(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://`)
	imported := regexp.MustCompile(`from "([^"]+)"`)
	for _, path := range glob(t, "static/*.js") {
		text := read(t, path)
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s: %s", path, found)
		}
		for _, match := range imported.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("static", match[1])); err != nil {
				t.Error(path, err)
			}
		}
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("GET "+pages.StaticPath, site(t).Static(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	for path, want := range map[string]int{
		"/ui/pages.css": 200, "/ui/signin.js": 200, "/ui/mark.svg": 200, "/ui/absent.js": 404, "/ui/..%2fpages.go": 404, "/ui/..%2f..%2fmessages%2fen.json": 404,
		"/ui/..%2ftemplates%2fsignin.html": 404, "/ui/%2e": 404, "/ui/pages.css%00.js": 404,
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want || want == 200 && (w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Body.Len() == 0) {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatal(pattern, err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
