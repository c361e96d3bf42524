// Package pages is what people see of identity: sign-in, sign-up, consent, their account. The pages are made on the server in
// the reader's language; small scripts call the public API, which is all that they can do.
package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"atelier/internal/gateway/internal/cookies"
)

//go:embed templates static messages
var files embed.FS

// Page is one page of the site.
type Page struct {
	// ID names the operation, Path is where it is.
	ID, Path string
	name     string
}

// List is every page.
func List() []Page {
	return []Page{
		{"pageSignIn", "/signin", "signin"},
		{"pageSignUp", "/signup", "signup"},
		{"pageForgot", "/forgot", "forgot"},
		{"pageValidate", "/validate", "validate"},
		{"pageDeleteAccount", "/delete-account", "delete"},
		{"pageConsent", "/consent", "signin"},
		{"pageDevice", "/device", "device"},
		{"pageAccount", "/account", "account"},
		{"pageSignedOut", "/signedout", "signedout"},
		{"pageError", "/error", "error"},
	}
}

// StaticPath is where the scripts and styles are.
const StaticPath = "/ui/{file}"

// policy lets a page load its own files and call its own API, and nothing else from anywhere. Trusted types make the browser
// refuse to turn text into markup. Forms are sent by scripts, so none may be sent by the browser.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Options say what the pages offer.
type Options struct {
	// Passkeys tells whether the installation's address can have passkeys.
	Passkeys bool
}

// Site makes the pages.
type Site struct {
	options   Options
	templates map[string]*template.Template
	words     map[string]catalogue
	languages []Language
}

// New reads the pages and their languages.
func New(options Options) (*Site, error) {
	words, languages, err := readCatalogues()
	if err != nil {
		return nil, err
	}
	s := &Site{options: options, templates: map[string]*template.Template{}, words: words, languages: languages}
	for _, page := range List() {
		made, err := template.ParseFS(files, "templates/layout.html", "templates/authenticator.html", "templates/"+page.name+".html")
		if err != nil {
			return nil, fmt.Errorf("read the page %s: %w", page.name, err)
		}
		s.templates[page.name] = made
	}
	return s, nil
}

// view is what a template sees.
type view struct {
	Name      string
	Lang      string
	Languages []choice
	// Query ends links to other pages, so that they stay in the chosen language and in the same sign-in.
	Query template.URL
	// Return is where a sign-in without a client ends.
	Return string
	// Signed tells that the browser has a cookie, so that it is worth asking who it is.
	Signed bool
	// Passkeys tells whether passkeys are offered.
	Passkeys bool
	// Words are what the scripts of the page say.
	Words catalogue

	words catalogue
}

// choice is a language to choose.
type choice struct {
	Language
	Href    string
	Current bool
}

// T is a text in the reader's language.
func (v view) T(key string) string { return v.words[key] }

// Data is what the scripts of the page know from the start.
func (v view) Data() (template.JS, error) {
	text, err := json.Marshal(map[string]any{"lang": v.Lang, "return": v.Return, "signed": v.Signed, "passkeys": v.Passkeys, "words": v.Words})
	return template.JS(text), err //nolint:gosec // encoding/json escapes what could end a script element
}

// Handler shows a page.
func (s *Site) Handler(page Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		v := s.view(page, r)
		if err := s.templates[page.name].ExecuteTemplate(&text, "layout", v); err != nil {
			http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
			return
		}
		header(w.Header())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Language", v.Lang)
		w.Header().Set("Vary", "Accept-Language, Cookie")
		w.Header().Set("Cache-Control", "no-store")
		if page.name == "error" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(text.Bytes()) // a reader who has left is no fault of ours
	})
}

func header(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func (s *Site) view(page Page, r *http.Request) view {
	query := r.URL.Query()
	lang := s.choose(query, r.Header.Get("Accept-Language"))
	v := view{Name: page.name, Lang: lang, Passkeys: s.options.Passkeys, Return: SafeReturn(query.Get("return_to")), words: s.words[lang]}
	_, err := r.Cookie(cookies.Token)
	v.Signed = err == nil
	v.Words = v.words.of(page.name)
	v.Query = template.URL(s.kept(query)) //nolint:gosec // encoded by net/url
	for _, language := range s.languages {
		others := maps.Clone(query)
		others.Set("lang", language.Code)
		v.Languages = append(v.Languages, choice{Language: language, Href: "?" + others.Encode(), Current: language.Code == lang})
	}
	return v
}

// kept is what links between the pages carry on.
func (s *Site) kept(query url.Values) string {
	kept := url.Values{}
	if lang := s.known(query.Get("lang")); lang != "" {
		kept.Set("lang", lang)
	}
	for _, name := range []string{"interaction", "return_to"} {
		if value := query.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode()
}

// Static serves the scripts and styles; missing answers for a file that does not exist.
func (s *Site) Static(missing http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		text, err := fs.ReadFile(files, path.Join("static", path.Base(name)))
		kind, known := kinds()[path.Ext(name)]
		if err != nil || !known {
			missing(w, r)
			return
		}
		header(w.Header())
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(text)
	})
}

func kinds() map[string]string {
	return map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
}

// catalogue is the texts of one language.
type catalogue map[string]string

// of is the part of the catalogue that the scripts of a page need.
func (c catalogue) of(page string) catalogue {
	part := catalogue{}
	for key, text := range c {
		room, _, _ := strings.Cut(key, ".")
		if slices.Contains([]string{page, "error", "common", "scope", "totp"}, room) {
			part[key] = text
		}
	}
	return part
}
