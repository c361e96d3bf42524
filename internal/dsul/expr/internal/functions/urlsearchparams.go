package functions

import (
	"net/url"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// URLSearchParams(x).asString and .asJSON turn an object or a text into a query string, or into an object. Without a
// field it is the query string; what cannot be one is undefined.
func runURLSearchParams(c *Call) (any, error) {
	pairs, ok, err := c.pairs()
	if err != nil || !ok {
		return value.Undefined{}, err
	}
	switch c.Field {
	case "", "asString":
		text := encodeQuery(pairs)
		return text, c.Budget.Spend(len(text))
	case "asJSON":
		return queryObject(pairs), nil
	default:
		return value.Undefined{}, nil
	}
}

type pair struct{ key, value string }

func (c *Call) pairs() (pairs []pair, ok bool, err error) {
	switch x := c.arg(0).(type) {
	case string:
		err = c.Budget.Spend(len(x) + strings.Count(x, "&")*itemCost)
		if err != nil {
			return nil, false, err
		}
		return parseQuery(strings.TrimPrefix(x, "?")), true, nil
	case *value.Object:
		for key, v := range x.All() {
			text := value.String(v)
			if err := c.Budget.Spend(len(key) + len(text) + itemCost); err != nil {
				return nil, false, err
			}
			pairs = append(pairs, pair{key, text})
		}
		return pairs, true, nil
	default:
		return nil, false, nil
	}
}

func parseQuery(query string) []pair {
	var pairs []pair
	for item := range strings.SplitSeq(query, "&") {
		if item == "" {
			continue
		}
		key, v, _ := strings.Cut(item, "=")
		pairs = append(pairs, pair{unescapeQuery(key), unescapeQuery(v)})
	}
	return pairs
}

// unescapeQuery reads what a form has escaped. What is escaped wrongly stays as it is.
func unescapeQuery(text string) string {
	if decoded, err := url.QueryUnescape(text); err == nil {
		return strings.ToValidUTF8(decoded, "\uFFFD")
	}
	return strings.ReplaceAll(text, "+", " ")
}

func encodeQuery(pairs []pair) string {
	var out strings.Builder
	for i, p := range pairs {
		if i > 0 {
			out.WriteByte('&')
		}
		escapeQuery(&out, p.key)
		out.WriteByte('=')
		escapeQuery(&out, p.value)
	}
	return out.String()
}

// escapeQuery escapes as forms do: everything but letters, digits and *-._ and a plus for a space.
func escapeQuery(out *strings.Builder, text string) {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		switch b := text[i]; {
		case b == ' ':
			out.WriteByte('+')
		case b >= '0' && b <= '9', b|0x20 >= 'a' && b|0x20 <= 'z' && b < 0x80, strings.IndexByte("*-._", b) >= 0:
			out.WriteByte(b)
		default:
			out.WriteByte('%')
			out.WriteByte(digits[b>>4])
			out.WriteByte(digits[b&15])
		}
	}
}

// queryObject makes an object of pairs; of equal keys the last one counts.
func queryObject(pairs []pair) *value.Object {
	object := value.NewObject(len(pairs))
	for _, p := range pairs {
		object.Set(p.key, p.value)
	}
	return object
}
