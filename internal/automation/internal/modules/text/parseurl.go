package text

import (
	"net/url"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

// maxURL is the longest address, in bytes, and maxQuery how many parameters it may have.
const (
	maxURL   = 64 << 10
	maxQuery = 1000
)

// ParseURL is {url}: the parts of an address, named as in JavaScript, and query with the parameters, a list for those that come
// more than once.
func ParseURL(parameters *value.Object) (any, error) {
	p := params.Read("text.parseUrl", parameters)
	text := p.Text("url", maxURL)
	if err := p.Err(); err != nil {
		return nil, err
	}
	u, err := url.Parse(value.Trim(text))
	if err != nil || u.Scheme == "" || u.Opaque == "" && u.Host == "" && u.Scheme != "file" {
		p.Refuse("url", "is not a whole address, such as https://example.com/path?key=value")
		return nil, p.Err()
	}
	query, ok := queryOf(u.RawQuery)
	if !ok {
		p.Refuse("url", "has more than %d parameters", maxQuery)
		return nil, p.Err()
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port != "" && port == usualPort(u.Scheme) {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" && u.Opaque == "" {
		u.Path = "/"
	}
	password, _ := u.User.Password()
	return machine.Payload(
		"href", u.String(), "protocol", u.Scheme+":", "origin", originOf(u), "username", u.User.Username(), "password", password,
		"host", u.Host, "hostname", u.Hostname(), "port", u.Port(), "pathname", pathOf(u), "search", prefixed("?", u.RawQuery),
		"hash", prefixed("#", u.EscapedFragment()), "query", query,
	), nil
}

func usualPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	default:
		return ""
	}
}

func originOf(u *url.URL) string {
	if usualPort(u.Scheme) == "" {
		return "null"
	}
	return u.Scheme + "://" + u.Host
}

func pathOf(u *url.URL) string {
	if u.Opaque != "" {
		return u.Opaque
	}
	return u.EscapedPath()
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// queryOf reads parameters in their order. It is false when there are too many.
func queryOf(raw string) (*value.Object, bool) {
	query, count := value.NewObject(0), 0
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		if count++; count > maxQuery {
			return nil, false
		}
		key, text, _ := strings.Cut(pair, "=")
		key, text = unescaped(key), unescaped(text)
		switch before := query.Get(key).(type) {
		case value.Undefined:
			query.Set(key, text)
		case []any:
			query.Set(key, append(before, text))
		default:
			query.Set(key, []any{before, text})
		}
	}
	return query, true
}

// unescaped reads an escaped text; one that is not escaped well stays as it is.
func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return strings.ToValidUTF8(plain, "\ufffd")
}
