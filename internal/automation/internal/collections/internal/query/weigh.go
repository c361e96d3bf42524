package query

import "atelier/internal/dsul/expr/value"

// maxHeld is how many bytes the groups and lists of an aggregation may take, about.
const maxHeld = 32 << 20

// Weigh tells how many bytes a value takes, about.
func Weigh(v any) int { return weighAt(v, 0) }

func weighAt(v any, depth int) int {
	const each = 32
	if depth > value.MaxDepth {
		return each
	}
	switch v := v.(type) {
	case string:
		return each + len(v)
	case []any:
		sum := each
		for _, item := range v {
			sum += weighAt(item, depth+1)
		}
		return sum
	case *value.Object:
		sum := each
		for key, item := range v.All() {
			sum += each + len(key) + weighAt(item, depth+1)
		}
		return sum
	default:
		return each
	}
}
