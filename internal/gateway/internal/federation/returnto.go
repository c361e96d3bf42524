package federation

import (
	"net/url"
	"strings"
	"unicode"
)

const (
	maxReturnTo = 2048
	// maxEncodings is how many times a path may be encoded; no honest one is more than twice.
	maxEncodings = 5
)

// safePath is a path of our own to go to after a sign-in; / in the place of anything a browser or a proxy could read as
// another host, a script or a header, however often it is encoded.
func safePath(path string) string {
	if len(path) > maxReturnTo {
		return "/"
	}
	decoded := path
	for range maxEncodings {
		if !plainPath(decoded) {
			return "/"
		}
		next, err := url.QueryUnescape(decoded)
		if err != nil {
			return "/"
		}
		if next == decoded {
			return path
		}
		decoded = next
	}
	return "/"
}

func plainPath(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return false
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return false
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		return r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	})
}
