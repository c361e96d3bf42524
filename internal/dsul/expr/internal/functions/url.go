package functions

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"atelier/internal/dsul/expr/value"
)

// URL(text) gives an address in its usual form, URL(text).field a part of it: href, origin, protocol, username, password,
// host, hostname, port, pathname, search, searchParams or hash. What is no address is undefined.
func runURL(c *Call) (any, error) {
	text, ok, err := c.scalarText(0)
	if err != nil || !ok {
		return value.Undefined{}, err
	}
	u, ok := parseURL(value.Trim(text))
	if !ok {
		return value.Undefined{}, nil
	}
	if c.Field == "searchParams" {
		return queryObject(parseQuery(u.RawQuery)), c.Budget.Spend(strings.Count(u.RawQuery, "&") * itemCost)
	}
	part, known := urlPart(u, c.Field)
	if !known {
		return value.Undefined{}, nil
	}
	return part, nil
}

// parseURL reads an absolute address and writes its parts the way browsers do.
func parseURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return nil, false
	}
	standard := defaultPort(u.Scheme)
	if standard == "" {
		return u, u.Host != "" || u.Opaque != "" || u.Path != ""
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if strings.Contains(u.Hostname(), ":") {
		host, err = "["+u.Hostname()+"]", nil
	}
	if err != nil || host == "" {
		return nil, false
	}
	if port := u.Port(); port != "" && port != standard {
		host += ":" + port
	}
	u.Host = host
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

func urlPart(u *url.URL, field string) (string, bool) {
	switch field {
	case "", "href":
		return u.String(), true
	case "origin":
		if defaultPort(u.Scheme) == "" {
			return "null", true
		}
		return u.Scheme + "://" + u.Host, true
	case "protocol":
		return u.Scheme + ":", true
	case "username":
		return url.PathEscape(u.User.Username()), true
	case "password":
		password, _ := u.User.Password()
		return url.PathEscape(password), true
	case "host":
		return u.Host, true
	case "hostname":
		return strings.TrimSuffix(u.Host, ":"+u.Port()), true
	case "port":
		return u.Port(), true
	default:
		return urlTail(u, field)
	}
}

// urlTail gives what stands behind the host.
func urlTail(u *url.URL, field string) (string, bool) {
	switch field {
	case "pathname":
		if u.Opaque != "" {
			return u.Opaque, true
		}
		return u.EscapedPath(), true
	case "search":
		return prefixed("?", u.RawQuery), true
	case "hash":
		return prefixed("#", u.EscapedFragment()), true
	default:
		return "", false
	}
}

func prefixed(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}
