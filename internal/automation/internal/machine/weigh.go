package machine

import "atelier/internal/dsul/expr/value"

// What values take in memory, about.
const (
	weightScalar = 16
	weightText   = 16
	weightList   = 40
	weightItem   = 16
	weightObject = 64
	weightKey    = 48
)

// tooDeep is how deep values may be nested. Whoever walks through one relies on it.
const tooDeep = 1000

// scale weighs a value. It counts what is there twice twice, as everyone does who writes it down, and stops when the value is
// heavier than it may be: a value that was doubled again and again is never walked through.
type scale struct {
	left int64
	deep bool
}

// weigh gives what a value takes, and false when that is more than the limit or nested too deep.
func weigh(v any, limit int64) (int64, bool) {
	switch v := v.(type) {
	case string:
		return weightText + int64(len(v)), true
	case []any, *value.Object:
		s := scale{left: limit}
		s.add(v, 0)
		return limit - s.left, s.left >= 0 && !s.deep
	default:
		return weightScalar, true
	}
}

func (s *scale) add(v any, depth int) {
	if depth > tooDeep {
		s.deep = true
	}
	if s.left < 0 || s.deep {
		return
	}
	switch v := v.(type) {
	case string:
		s.left -= weightText + int64(len(v))
	case []any:
		s.left -= weightList + weightItem*int64(len(v))
		for _, item := range v {
			s.add(item, depth+1)
		}
	case *value.Object:
		s.left -= weightObject
		for key, item := range v.All() {
			s.left -= weightKey + int64(len(key))
			s.add(item, depth+1)
		}
	default:
		s.left -= weightScalar
	}
}
