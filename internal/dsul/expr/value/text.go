package value

import (
	"math"
	"strings"
)

// String is what JavaScript's String() gives: undefined, null, true, 1.5, the items of a list with commas between them,
// [object Object].
func String(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return FormatNumber(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	case nil:
		return "null"
	case []any:
		return join(v, ",", 0)
	case *Object:
		return "[object Object]"
	default:
		return "undefined"
	}
}

// Join writes the items of a list one after the other; null and undefined are empty.
func Join(list []any, separator string) string { return join(list, separator, 0) }

func join(list []any, separator string, depth int) string {
	var out strings.Builder
	for i, item := range list {
		if i > 0 {
			out.WriteString(separator)
		}
		switch item := item.(type) {
		case nil, Undefined:
		case []any:
			if depth < deepest {
				out.WriteString(join(item, ",", depth+1))
			}
		default:
			out.WriteString(String(item))
		}
	}
	return out.String()
}

// Text is what a value becomes inside a text of a template: nothing for null and undefined, indented JSON for lists and
// objects. It is false when the text would be longer than the limit.
func Text(v any, limit int) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, len(v) <= limit
	case nil, Undefined:
		return "", true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return JSON(v, "", limit)
		}
		text := FormatNumber(v)
		return text, len(text) <= limit
	default:
		return JSON(v, "  ", limit)
	}
}
