package gitcmd

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// maxWords is how much of what a server said is shown.
const maxWords = 500

// hidden stands where a secret was.
const hidden = "***"

//nolint:gochecknoglobals // compiled once, never changed
var (
	ansi     = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])`)
	userInfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@']*@`)
	keyBlock = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// plain is a text without what it could do to a terminal or a log.
func plain(text string) string {
	text = ansi.ReplaceAllString(strings.ToValidUTF8(text, "?"), "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n' // progress that overwrites itself
		case r == '\n' || unicode.IsPrint(r):
			return r
		}
		return ' '
	}, text))
}

// redact takes the secrets of a remote out of a text, in every form that a server or git would repeat them in.
func (r Remote) redact(text string) string {
	text = keyBlock.ReplaceAllString(text, hidden)
	for _, secret := range r.secrets() {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return userInfo.ReplaceAllString(text, "${1}"+hidden+"@")
}

// secrets are the longest first: one may be part of another.
func (r Remote) secrets() []string {
	var all []string
	if r.Password != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(r.userName() + ":" + r.Password))
		all = append(all, basic, base64.StdEncoding.EncodeToString([]byte(r.Password)), url.QueryEscape(r.Password), url.PathEscape(r.Password), r.Password)
	}
	for line := range strings.Lines(r.SSHKey) {
		if line = strings.TrimSpace(line); len(line) > 8 && !strings.HasPrefix(line, "-----") {
			all = append(all, line)
		}
	}
	return all
}

// words is what a server said, fit to be shown: one line, no secrets, not too long.
func (r Remote) words(lines ...string) string {
	text := strings.Join(strings.Fields(r.redact(plain(strings.Join(lines, " ")))), " ")
	if runes := []rune(text); len(runes) > maxWords {
		text = strings.TrimSpace(string(runes[:maxWords-1])) + "…"
	}
	return text
}
