package egress

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// canonicalHost is the host the way the HTTP library will dial it: in ASCII, in lower case, without the final dot. It
// refuses names that resolvers read as addresses although they do not look like one (127.1, 0x7f000001, 2130706433,
// 0177.0.0.1): some would connect to what nobody checked.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		return canonicalIPv6(host)
	}
	if !isASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host) // also turns ① and １ into 1
		if err != nil {
			return "", errNotURL
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isHostName(host) {
		return "", errNotURL
	}
	if endsInNumber(host) {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", errSpelling
		}
	}
	return host, nil
}

func canonicalIPv6(host string) (string, error) {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return "", errNotURL
	}
	return addr.String(), nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}

// isHostName is lenient about what labels look like and strict about characters: they cannot end the host early.
func isHostName(host string) bool {
	if host == "" || len(host) > 253 || strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

// endsInNumber is the rule of browsers: a host whose last label is a number is an address.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
