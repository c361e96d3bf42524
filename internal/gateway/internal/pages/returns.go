package pages

import (
	"net/url"
	"strings"
)

// Home is where a sign-in ends that nobody asked for.
const Home = "/account"

const (
	maxReturn = 2048
	// maxEncodings is how many times over a path may be encoded before it is not believed.
	maxEncodings = 3
)

// SafeReturn is the path to go to after a sign-in when it stays on this host, and Home otherwise. Browsers read some paths
// as addresses of other hosts, and proxies decode once more than we do, so every decoded form must be harmless.
func SafeReturn(wanted string) string {
	if wanted == "" || len(wanted) > maxReturn {
		return Home
	}
	parsed, err := url.Parse(wanted)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.User != nil || parsed.Opaque != "" {
		return Home
	}
	path, query, _ := strings.Cut(wanted, "?")
	if !harmless(path, localPath) || !harmless(query, plainText) {
		return Home
	}
	return wanted
}

// harmless tells whether a text and all its decoded forms pass.
func harmless(text string, pass func(string) bool) bool {
	for range maxEncodings {
		if !pass(text) {
			return false
		}
		decoded, err := url.PathUnescape(text)
		if err != nil {
			return false
		}
		if decoded == text {
			return true
		}
		text = decoded
	}
	return false
}

func localPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.Contains(path, "/../") && plainText(path)
}

// plainText has no backslash, which browsers take for a slash, and no control character, which they drop.
func plainText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f })
}
