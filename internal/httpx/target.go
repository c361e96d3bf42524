package httpx

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"atelier/internal/errs"
)

const (
	maxURL        = 8 << 10
	maxParameters = 100
	maxHeaders    = 100
)

// checkTarget refuses requests that two parsers could read differently, before anything is routed: dot segments, encoded
// slashes, double slashes, path parameters, control characters, too many or badly encoded parameters.
func checkTarget(r *http.Request) error {
	if len(r.RequestURI) > maxURL {
		return errs.New(errs.InvalidRequest, "The address is too long; at most 8 KiB are read.").WithStatus(http.StatusRequestURITooLong)
	}
	if headerLines(r.Header) > maxHeaders {
		return errs.New(errs.InvalidRequest, "There are too many headers; at most 100 are read.").
			WithStatus(http.StatusRequestHeaderFieldsTooLarge)
	}
	if knownMethod(r.Method) != r.Method {
		return errs.New(errs.InvalidRequest, "This method is not supported.").WithStatus(http.StatusMethodNotAllowed)
	}
	if err := checkPath(r); err != nil {
		return err
	}
	return checkQuery(r.URL.RawQuery)
}

// methods are those of the API.
//
//nolint:gochecknoglobals // a table, never changed
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// knownMethod is the method, or other: what clients make up must not become the name of anything, such as of a metric.
func knownMethod(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "other"
}

func headerLines(h http.Header) (lines int) {
	for _, values := range h {
		lines += len(values)
	}
	return lines
}

func checkPath(r *http.Request) error {
	if unambiguous(r) {
		return nil
	}
	return errs.New(errs.InvalidRequest, "The path is ambiguous: dot segments, empty segments, encoded slashes, backslashes, "+
		"semicolons and control characters are refused.")
}

// unambiguous tells that every parser reads the path of a request in the same way.
func unambiguous(r *http.Request) bool {
	path := r.URL.Path
	if path == "" || path[0] != '/' || r.URL.Host != "" && r.Method != http.MethodConnect && !strings.HasPrefix(r.RequestURI, "/") {
		return false // absolute form or asterisk: not for us
	}
	if strings.Contains(path, "//") || strings.Contains(path, "%") || !utf8.ValidString(path) {
		return false
	}
	for i := range len(path) {
		if c := path[i]; c < ' ' || c == 0x7f || c == '\\' || c == ';' {
			return false
		}
	}
	if raw := r.URL.RawPath; raw != "" && hasEncodedSeparator(raw) {
		return false
	}
	if strings.Contains(path, "/.") && hasDotSegment(path) {
		return false
	}
	return true
}

func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// hasEncodedSeparator finds encoded slashes, backslashes, semicolons and zero bytes. (An encoded percent sign, which a second
// decoding would read as something else, shows in the decoded path.)
func hasEncodedSeparator(raw string) bool {
	for i := 0; i+2 < len(raw); i++ {
		if raw[i] != '%' {
			continue
		}
		switch strings.ToLower(raw[i+1 : i+3]) {
		case "2f", "5c", "00", "3b":
			return true
		}
	}
	return false
}

func checkQuery(raw string) error {
	if raw == "" {
		return nil
	}
	if strings.Count(raw, "&") >= maxParameters {
		return errs.New(errs.InvalidParameter, "There are too many query parameters; at most 100 are read.")
	}
	if strings.Contains(raw, ";") {
		return errs.New(errs.InvalidParameter, "Semicolons do not separate query parameters; use & and write a semicolon as %3B.")
	}
	text, err := url.QueryUnescape(raw)
	if err != nil {
		return errs.New(errs.InvalidParameter, "The query is not properly percent-encoded.")
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return errs.New(errs.InvalidParameter, "The query is not valid UTF-8 text.")
	}
	return nil
}
