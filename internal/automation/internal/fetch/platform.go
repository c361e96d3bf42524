package fetch

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"atelier/internal/egress"
	"atelier/internal/errs"
)

// isPlatform tells that an address is one of the platform's, where a run acts as its caller.
func (c *Client) isPlatform(u *url.URL) bool { return isPlatform(c.api, u) }

// isPlatform compares addresses strictly: a path that two readers could understand in two ways is not the platform's, so that no
// token is sent along with it.
func isPlatform(api, u *url.URL) bool {
	if api == nil || u.User != nil || !strings.EqualFold(api.Scheme, u.Scheme) || !strings.EqualFold(api.Hostname(), u.Hostname()) || port(api) != port(u) {
		return false
	}
	if cleaned := path.Clean(u.Path); cleaned != u.Path && cleaned+"/" != u.Path {
		return false
	}
	escaped := strings.ToLower(u.EscapedPath())
	for _, tricky := range []string{"%2f", "%5c", "%2e", "%00", ";"} {
		if strings.Contains(escaped, tricky) {
			return false
		}
	}
	rest, ok := strings.CutPrefix(u.Path, api.Path)
	if !ok {
		return false
	}
	for _, area := range []string{"/workspaces", "/pages", "/files"} {
		if below, ok := strings.CutPrefix(rest, area); ok && (below == "" || below[0] == '/') {
			return true
		}
	}
	return false
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	default:
		return "80"
	}
}

// router sends each request, also that of a redirect, where it belongs: to the platform or out through the guard.
type router struct {
	outside, platform http.RoundTripper
	api               *url.URL
	forbidden         []string
}

var errForbiddenHost = errors.New("the operator forbids this host")

// RoundTrip implements http.RoundTripper.
func (t *router) RoundTrip(r *http.Request) (*http.Response, error) {
	if journey := journeyOf(r.Context()); journey != nil {
		r = r.Clone(r.Context()) // a RoundTripper leaves its request as it is
		maps.Copy(r.Header, journey)
	}
	if isPlatform(t.api, r.URL) {
		return t.platform.RoundTrip(r)
	}
	if t.isForbidden(r.URL.Hostname()) {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTrip
		}
		return nil, errs.New(errs.Unavailable, egress.Unreachable).WithStatus(http.StatusBadGateway).Because(errForbiddenHost)
	}
	return t.outside.RoundTrip(r)
}

// CloseIdleConnections is called by the method of http.Client with this name. The platform's connections are not ours.
func (t *router) CloseIdleConnections() {
	if closer, ok := t.outside.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func (t *router) isForbidden(host string) bool {
	host = hostName(host)
	return slices.ContainsFunc(t.forbidden, func(forbidden string) bool {
		if strings.HasPrefix(forbidden, ".") {
			return strings.HasSuffix(host, forbidden) || host == forbidden[1:]
		}
		return host == forbidden
	})
}

// hostName writes a host in the one way that hosts are compared in.
func hostName(host string) string {
	host = strings.TrimSuffix(strings.Trim(strings.ToLower(strings.TrimSpace(host)), "[]"), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	dot := ""
	if rest, ok := strings.CutPrefix(host, "."); ok {
		dot, host = ".", rest
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	return dot + host
}

// journeyKey finds the headers of a journey in a context.
type journeyKey struct{}

func withJourney(ctx context.Context, journey http.Header) context.Context {
	return context.WithValue(ctx, journeyKey{}, journey)
}

func journeyOf(ctx context.Context) http.Header {
	journey, _ := ctx.Value(journeyKey{}).(http.Header)
	return journey
}
