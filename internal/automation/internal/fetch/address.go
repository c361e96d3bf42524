package fetch

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"atelier/internal/dsul/expr/value"
)

const (
	maxURL   = 8 << 10
	maxQuery = 1000
	// maxText bounds what is written from a value that should be short.
	maxText = 1 << 20
)

// parseURL reads an absolute address as browsers do: what texts put into it and what has no place in one is encoded. Line breaks
// and backslashes are refused: servers read them in ways that the checks of the address do not see.
func parseURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, invalid("Invalid fetch instruction: url is longer than 8 KiB; send what is long in the body.")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) || !utf8.ValidString(text) {
		return nil, invalid("Invalid fetch instruction: url holds line breaks, control characters or backslashes.")
	}
	parsed, err := url.Parse(encodeRest(text))
	if err != nil || parsed.Host == "" || parsed.Opaque != "" {
		return nil, invalid("Invalid fetch instruction: url is not an absolute address; write it like https://example.com/path.")
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, invalid("Invalid fetch instruction: url must start with http:// or https://.")
	}
	if parsed.User != nil {
		return nil, invalid("Invalid fetch instruction: url must not hold a user name or password; use auth.basic.")
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed, nil
}

// encodeRest encodes what may not stand in the path and the query. The host is left as it is.
func encodeRest(text string) string {
	start := strings.Index(text, "://")
	if start < 0 {
		return text
	}
	start += len("://")
	end := strings.IndexAny(text[start:], "/?#")
	if end < 0 {
		return text
	}
	end += start
	var out strings.Builder
	out.WriteString(text[:end])
	for i := end; i < len(text); i++ {
		b := text[i]
		if b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>^`{|}", b) >= 0 {
			const digits = "0123456789ABCDEF"
			out.Write([]byte{'%', digits[b>>4], digits[b&15]})
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// encodeQuery writes names and values as a form does. Lists repeat the name; what is null or undefined is left out.
func encodeQuery(v any, name string) (string, error) {
	query, err := object(v, name)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	count := 0
	add := func(key string, item any) error {
		text, ok := scalar(item)
		if count++; !ok || count > maxQuery {
			return invalid("Invalid fetch instruction: %s is too large; send what is long in the body.", name)
		}
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		out.WriteString(url.QueryEscape(key))
		out.WriteByte('=')
		out.WriteString(url.QueryEscape(text))
		return nil
	}
	for key, item := range query.All() {
		list, ok := item.([]any)
		if !ok {
			list = []any{item}
		}
		for _, one := range list {
			if !value.Exists(one) {
				continue
			}
			if err := add(key, one); err != nil {
				return "", err
			}
		}
	}
	return out.String(), nil
}

// scalar is a value as one text: lists and objects as JSON. It is false when that is too long.
func scalar(v any) (string, bool) {
	switch v.(type) {
	case []any, *value.Object:
		return value.JSON(v, "", maxText)
	}
	text := value.String(v)
	return text, len(text) <= maxText
}
