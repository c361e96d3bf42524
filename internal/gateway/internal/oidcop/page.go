package oidcop

import (
	"bytes"
	_ "embed" // the template
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

//go:embed notice.html
var noticeText string

var notice = template.Must(template.New("notice").Parse(noticeText)) //nolint:gochecknoglobals // parsed once

// shownNotice is what a page without a script says.
type shownNotice struct {
	Title, Text string
	// Action, Button and Fields make a form; an empty action makes none.
	Action, Button string
	Fields         map[string]string
	// Target is where the answer to the form leads, so that the browser lets it; empty when it stays here.
	Target string
}

// noticeHash is the hash of the page's style; a test holds them together.
const noticeHash = "IKFbFOf0twl3L4EzKdALMqli1la9tKgXgViegD+7RqA="

// noticePolicy lets the page use its own style, known by its hash, and nothing else.
const noticePolicy = "default-src 'none'; style-src 'sha256-" + noticeHash + "'; frame-ancestors 'none'; base-uri 'none'"

// show writes a page for a person.
func show(w http.ResponseWriter, status int, page shownNotice) error {
	var text bytes.Buffer
	if err := notice.Execute(&text, page); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", noticePolicy+"; form-action 'self' "+sourceOf(page.Target))
	w.Header().Set("Referrer-Policy", "no-referrer")
	if page.Action != "" {
		w.Header().Set("Referrer-Policy", "same-origin") // without, browsers do not say that the form is of our own page
	}
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
	return nil
}

// sourceOf names the place of an address in a policy.
func sourceOf(address string) string {
	if address == "" {
		return ""
	}
	scheme, _, _ := strings.Cut(address, ":")
	if scheme == "http" || scheme == "https" {
		return originOf(address)
	}
	return scheme + ":"
}

// refusePerson answers a browser that cannot be sent back to any client: with a page, or in JSON for programs.
func (p *Provider) refusePerson(w http.ResponseWriter, r *http.Request, err error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.refuse(w, r, err)
		return
	}
	f := p.inWords(r, err)
	if err := show(w, f.status, shownNotice{Title: "This did not work", Text: f.Description}); err != nil {
		p.refuse(w, r, err)
	}
}
