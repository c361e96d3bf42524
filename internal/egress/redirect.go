package egress

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 5

// checkRedirect counts the redirects and, once another host was asked, keeps only headers that cannot hold a secret. The
// standard library drops Authorization and Cookie, not X-Api-Key and its like, and neither for another port or a
// subdomain. The address itself is checked by the transport.
func checkRedirect(next *http.Request, asked []*http.Request) error {
	if len(asked) > maxRedirects {
		return unreachable(fmt.Errorf("stopped after %d redirects", maxRedirects))
	}
	first := asked[0].URL
	for _, r := range append(asked[1:len(asked):len(asked)], next) {
		if !sameParty(first, r.URL) {
			dropSecrets(next)
			return nil
		}
	}
	return nil
}

// sameParty compares scheme, host and port; the step from http to https on the usual ports is no change of party.
func sameParty(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return portOf(a) == portOf(b)
	}
	return a.Scheme == "http" && portOf(a) == "80" && portOf(b) == "443"
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

func dropSecrets(r *http.Request) {
	for name := range r.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Accept-Language", "Content-Encoding", "Content-Type", "User-Agent":
		default:
			delete(r.Header, name) // also Referer, whose query may hold a token
		}
	}
}
