package config

import (
	"errors"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longestShown is how much of a malformed value a message repeats, in characters.
const longestShown = 60

// fileReader reads a whole file; it is handed in so that tests own the files.
type fileReader func(path string) ([]byte, error)

// checkText holds a text, or one item of a list, against the tags. It returns what is wrong with it, or nothing.
func (s setting) checkText(text string, read fileReader) string {
	shape, shaped := findForm(s.form)
	switch {
	case len(s.oneOf) > 0 && !slices.Contains(s.oneOf, text):
		return s.refuse(text, "is not a known value")
	case len(s.schemes) > 0 && !s.isAddress(text):
		return s.refuse(text, "is not such an address")
	case shaped && !shape.accept(text):
		return s.refuse(text, shape.wrong)
	case s.pattern != "" && !matches(s.pattern, text):
		return s.refuse(text, "does not have the right form")
	case s.minLength != "" && !isLong(text, s.minLength):
		return s.refuse(text, "is too short")
	case s.mustExist:
		if _, err := read(text); err != nil {
			return unreadable(text, err)
		}
	}
	return ""
}

// refuse says what is wrong with a text, and what is allowed instead.
func (s setting) refuse(text, wrong string) string {
	return s.quote(text) + " " + wrong + "; allowed: " + s.allowed()
}

// quote repeats a text in a message, unless it is a secret or an address that may carry one.
func (s setting) quote(text string) string {
	if s.secret() || strings.Contains(text, "://") && strings.Contains(text, "@") {
		return "the value"
	}
	return quote(text)
}

// quote keeps a text on one line and short.
func quote(text string) string {
	if utf8.RuneCountInString(text) > longestShown {
		text = string([]rune(text)[:longestShown]) + "..."
	}
	return strconv.Quote(text)
}

// isAddress looks at the scheme only where the address is secret: its driver knows the rest, and it may hold a password.
// Elsewhere a user part is refused, for it would be shown, and so are the parts that would be lost when a path is added.
func (s setting) isAddress(text string) bool {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || rest == "" || !slices.Contains(s.schemes, scheme) {
		return false
	}
	return s.secret() || isPlainAddress(text)
}

func isPlainAddress(text string) bool {
	address, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, "?#") {
		return false
	}
	return address.Hostname() != "" && address.User == nil && isPort(address.Port())
}

// isPort accepts the port of an address, which may be left out.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

func matches(pattern, text string) bool {
	compiled, err := regexp.Compile(pattern)
	return err == nil && compiled.MatchString(text)
}

func isLong(text, least string) bool {
	n, err := strconv.Atoi(least)
	return err == nil && utf8.RuneCountInString(text) >= n
}

// unreadable names the path once: the errors of the os package repeat it.
func unreadable(path string, err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return "cannot read " + strconv.Quote(path) + ": " + err.Error()
}
