package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"atelier/internal/errs"
)

const maxURLLength = 8 << 10

// refusedError says what is wrong with a URL in words its author can use.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

const (
	errNotURL     = refusedError("is not a URL; write it like https://example.com/path")
	errScheme     = refusedError("must start with http:// or https://")
	errUserInfo   = refusedError("must not hold a user name or password; use a secret and a header")
	errCharacters = refusedError("must not hold control characters, spaces or backslashes")
	errTooLong    = refusedError("must not be longer than 8 KiB")
	errPrivate    = refusedError("is a private or reserved address; the operator allows networks with EGRESS_ALLOWED_NETWORKS")
	errLocalName  = refusedError("is a name of a private network; the operator allows networks with EGRESS_ALLOWED_NETWORKS")
	errPort       = refusedError("uses a port that is not allowed; outside the networks of EGRESS_ALLOWED_NETWORKS only the ports 80 and 443 are")
	errSpelling   = refusedError("writes an address in an unusual way; write it like 203.0.113.7 or [2001:db8::7], and if it is private the operator allows it with EGRESS_ALLOWED_NETWORKS")
)

// CheckURL is the check when a URL is saved: it refuses, with a validation error on the field "url", what can be seen to
// be forbidden without asking a name server. What a name resolves to is checked when it is called.
func (g *Guard) CheckURL(raw string) error {
	err := g.checkText(raw)
	if err == nil {
		return nil
	}
	return errs.Invalid(errs.Field{Field: "url", Message: "The URL " + err.Error() + "."})
}

func (g *Guard) checkText(raw string) error {
	if len(raw) > maxURLLength {
		return errTooLong
	}
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, forbiddenInURL) {
		return errCharacters
	}
	u, err := url.Parse(raw)
	if err != nil {
		return errNotURL
	}
	return g.inspect(u)
}

func forbiddenInURL(r rune) bool {
	return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// inspect refuses what a URL alone gives away.
func (g *Guard) inspect(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errScheme
	case u.User != nil:
		return errUserInfo
	case u.Opaque != "" || u.Hostname() == "":
		return errNotURL
	case strings.ContainsFunc(u.Hostname(), forbiddenInURL):
		return errCharacters
	}
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 {
		return errPort
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.inspectAddress(addr, uint16(port))
	}
	return g.inspectName(host, uint16(port))
}

func (g *Guard) inspectAddress(addr netip.Addr, port uint16) error {
	switch {
	case addr.Zone() != "":
		return errPrivate
	case g.allowedByOperator(addr):
		return nil
	case g.public.SafeAddr(addr) != nil:
		return errPrivate
	case !g.portAllowed(port):
		return errPort
	}
	return nil
}

// inspectName lets names pass that may lie in an allowed network; where they really lead is known when they are called.
func (g *Guard) inspectName(name string, port uint16) error {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		if g.allowedByOperator(netip.AddrFrom4([4]byte{127, 0, 0, 1})) || g.allowedByOperator(netip.IPv6Loopback()) {
			return nil
		}
		return errPrivate
	}
	if len(g.networks) > 0 {
		return nil
	}
	if !strings.Contains(name, ".") {
		return errLocalName
	}
	if !g.portAllowed(port) {
		return errPort
	}
	return nil
}
